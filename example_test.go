package hyperslab_test

import (
	"context"
	"expvar"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Convert an array to another format. The draft appears under its name only when it is complete.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source, target := filepath.Join(dir, "in.h5")+":/ocean/depth", filepath.Join(dir, "depth.b2nd")

	first, err := hyperslab.Create(ctx, source, ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int16]()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	if err := ndarray.Write(ctx, first.Array, []int16{-11, 20, 3, 4}, ndarray.Whole(first.Shape())); err != nil {
		log.Fatal(err)
	}
	if err := first.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	src, err := hyperslab.Open(ctx, source, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	dst, err := hyperslab.Create(ctx, target, ndarray.Spec{Shape: src.Shape(), DType: src.DType()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer dst.Close() // discards what is not committed
	if _, err := ndarray.Copy(ctx, dst.Array, src, nil); err != nil {
		log.Fatal(err)
	}
	if err := dst.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	a, err := hyperslab.Open(ctx, target, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	values, err := ndarray.ReadAll[int16](ctx, a)
	fmt.Println(a.Meta().Format, values, err)
	// Output: b2nd [-11 20 3 4] <nil>
}

// List the objects of an HDF5 file, including links.
func ExampleWalk() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "in.h5")
	d, err := hyperslab.Create(ctx, file+":/ocean/depth", ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int8]()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	if err := d.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	for e, err := range hyperslab.Walk(ctx, file, nil) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Kind == hyperslab.Array {
			fmt.Println(e.Path, e.Meta.DType, e.Meta.Shape)
		} else {
			fmt.Println(e.Path, e.Kind)
		}
	}
	// Output:
	// / group
	// /ocean group
	// /ocean/depth |i1 [4]
}

// Compare lists the paths at which two files differ. The files can have any formats.
func ExampleCompare() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for file, last := range map[string]int16{"a.h5:/depth": 4, "b.h5:/depth": 5} {
		d, err := hyperslab.Create(ctx, filepath.Join(dir, file), ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int16]()}, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer d.Close()
		if err := ndarray.Write(ctx, d.Array, []int16{1, last}, ndarray.Whole(d.Shape())); err != nil {
			log.Fatal(err)
		}
		if err := d.Commit(ctx); err != nil {
			log.Fatal(err)
		}
	}
	a, err := hyperslab.OpenTree(ctx, filepath.Join(dir, "a.h5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := hyperslab.OpenTree(ctx, filepath.Join(dir, "b.h5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	report, err := hyperslab.Compare(ctx, a, b, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range report.Differences {
		fmt.Println(d.Path, d.Array.Diffs[0].Index, d.Array.Diffs[0].A, d.Array.Diffs[0].B)
	}
	// Output: /depth [1] 4 5
}

func ExampleReadCounters() {
	// GET /debug/vars then shows the counters. A collector of Prometheus reads the same struct.
	expvar.Publish("hyperslab", expvar.Func(func() any { return hyperslab.ReadCounters() }))

	before := hyperslab.ReadCounters()
	a, err := hyperslab.Open(context.Background(), "testdata/etopo120.h5:/ROSE", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if _, err := ndarray.ReadAll[float32](context.Background(), a); err != nil {
		log.Fatal(err)
	}
	after := hyperslab.ReadCounters()
	fmt.Println(after.Reads-before.Reads, "read of", after.BytesRead-before.BytesRead, "bytes")
	// Output: 1 read of 64800 bytes
}
