package hyperslab_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// exampleArray writes a 4×6 array of the numbers 0 to 23.
func exampleArray(location string) {
	d, err := hyperslab.Create(context.Background(), location, ndarray.Spec{
		Shape: []int64{4, 6}, MaxShape: []int64{ndarray.Unlimited, 6}, ChunkShape: []int64{2, 6},
		AxisNames: []string{"time", "place"}, DType: ndarray.DTypeOf[int32](),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	values := make([]int32, 24)
	for i := range values {
		values[i] = int32(i)
	}
	if err := ndarray.Write(context.Background(), d.Array, values, ndarray.Whole(d.Shape())); err != nil {
		log.Fatal(err)
	}
	if err := d.Commit(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A selection in NumPy syntax works with every format.
func ExampleOpen_selection() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, location := context.Background(), filepath.Join(dir, "a.h5")+":/run/1"
	exampleArray(location)

	a, err := hyperslab.Open(ctx, location, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	s, err := ndarray.ParseSelection("[-1, ::-2]")
	if err != nil {
		log.Fatal(err)
	}
	values, err := ndarray.Take[int32](ctx, a, s)
	fmt.Println(a.Meta().AxisNames, values, err)
	// Output: [time place] [23 21 19] <nil>
}

// Append rows to an array on disk.
func ExampleOpenOptions_write() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "a.b2nd")
	exampleArray(file)

	a, err := hyperslab.Open(ctx, file, &hyperslab.OpenOptions{Write: true})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if err := ndarray.Append(ctx, a, 0, []int32{100, 101, 102, 103, 104, 105}); err != nil {
		log.Fatal(err)
	}
	sum, err := ndarray.Summarize(ctx, a, nil)
	fmt.Println(a.Shape(), sum.ExactSum, sum.Max, err)
	// Output: [5 6] 891 105 <nil>
}

// Convert an HDF5 file to a directory of b2nd files.
func ExampleCopyTree() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	exampleArray(filepath.Join(dir, "a.h5") + ":/run/1")

	tree, err := hyperslab.OpenTree(ctx, filepath.Join(dir, "a.h5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	stats, err := hyperslab.CopyTree(ctx, filepath.Join(dir, "a"), tree, nil)
	fmt.Println(stats.Groups, "groups,", stats.Arrays, "array,", stats.Bytes, "bytes", err)
	for e, err := range hyperslab.Walk(ctx, filepath.Join(dir, "a"), nil) {
		fmt.Println(e.Path, e.Kind, e.Meta.Shape, err)
	}
	// Output:
	// 2 groups, 1 array, 96 bytes <nil>
	// / group [] <nil>
	// /run group [] <nil>
	// /run/1 array [4 6] <nil>
}

// Read and write records as Go structs.
func ExampleOpen_structs() {
	type place struct {
		Name string  `nd:"name,S8"`
		Lat  float64 `nd:"lat"`
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, location := context.Background(), filepath.Join(dir, "p.h5")+":/places"
	dtype, err := ndarray.DTypeFor[place]()
	if err != nil {
		log.Fatal(err)
	}
	d, err := hyperslab.Create(ctx, location, ndarray.Spec{Shape: []int64{2}, DType: dtype}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	if err := ndarray.Write(ctx, d.Array, []place{{"Bern", 46.9}, {"Oslo", 59.9}}, ndarray.Whole(d.Shape())); err != nil {
		log.Fatal(err)
	}
	if err := d.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	a, err := hyperslab.Open(ctx, location, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	places, err := ndarray.ReadAll[place](ctx, a)
	fmt.Println(a.DType(), places, err)
	// Output: [('name', 'S8'), ('lat', '<f8')] [{Bern 46.9} {Oslo 59.9}] <nil>
}

// Store attributes and read the metadata of an array without its elements.
func ExampleCreate_attributes() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, location := context.Background(), filepath.Join(dir, "a.h5")+":/run/1"
	exampleArray(location)

	a, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Write: true})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	for _, attr := range []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}, {Name: "range", Value: ndarray.Vector(-1.5, 40)}} {
		if err := a.SetAttr(ctx, attr); err != nil {
			log.Fatal(err)
		}
	}
	attrs, err := a.Attrs(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, attr := range attrs.List {
		fmt.Println(attr.Name, attr.Value)
	}
	m := a.Meta()
	fmt.Println(m.Format, m.Shape, m.MaxShape, m.DType, m.ChunkShape, m.Compression)
	// Output:
	// range [-1.5 40]
	// unit "K"
	// hdf5 [4 6] [-1 6] <i4 [2 6] shuffle + deflate 4
}

// Compute statistics and a histogram, each in one parallel pass over the chunks.
func ExampleOpen_statistics() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "a.bcolz")
	exampleArray(file)

	a, err := hyperslab.Open(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	s, err := ndarray.Summarize(ctx, a, nil)
	if err != nil {
		log.Fatal(err)
	}
	h, err := ndarray.CountBins(ctx, a, 0, 24, 4, nil)
	fmt.Println(s.Count, s.Min, s.Max, s.ExactSum, s.Mean, h.Bins, err)
	// Output: 24 0 23 276 11.5 [6 6 6 6] <nil>
}

// Check every chunk of a file.
func ExampleVerify() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "a.b2nd")
	exampleArray(file)

	report, err := hyperslab.Verify(context.Background(), file, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Chunks, "chunks,", report.NumFindings, "errors, values verified:", report.ValuesVerified)
	// Output: 2 chunks, 0 errors, values verified: false
}

// Recover an array from a file whose end is missing.
func ExampleRecover() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "a.b2nd")
	exampleArray(file)
	info, err := os.Stat(file)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Truncate(file, info.Size()-20); err != nil { // in the trailer of the frame
		log.Fatal(err)
	}

	_, err = hyperslab.Open(ctx, file, nil)
	fmt.Println(errors.Is(err, ndarray.ErrCorrupt))
	report, err := hyperslab.Recover(ctx, filepath.Join(dir, "recovered.b2nd"), file, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Arrays, "array,", report.Chunks, "chunks,", report.Lost, "lost")
	// Output:
	// true
	// 1 array, 2 chunks, 0 lost
}

// Another program has changed one byte of the superblock.
func ExamplePlanRepair() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, file, repaired := context.Background(), filepath.Join(dir, "a.h5"), filepath.Join(dir, "repaired.h5")
	exampleArray(file + ":/x")
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0, 1}, 40); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}

	plan, err := hyperslab.PlanRepair(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	c := plan.Changes[0]
	fmt.Println(c.Structure, c.Offset, len(c.New), c.Certain)
	if err := plan.Apply(ctx, repaired, file, nil); err != nil {
		log.Fatal(err)
	}
	a, err := hyperslab.Open(ctx, repaired+":/x", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	fmt.Println(a.Shape())

	// The plan can be reversed.
	fmt.Println(plan.Reverse().Apply(ctx, filepath.Join(dir, "original.h5"), repaired, nil))
	// Output:
	// end of file address 40 8 true
	// [4 6]
	// <nil>
}
