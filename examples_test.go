package hyperslab_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// exampleDir returns a new directory with the file sea.h5, which contains the array /ocean/depth,
// and the frame depth.b2nd with the same elements.
func exampleDir() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, name := range []string{"sea.h5:/ocean/depth", "depth.b2nd"} {
		d, err := hyperslab.Create(ctx, filepath.Join(dir, name), ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int16]()}, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer d.Close()
		if err := ndarray.Write(ctx, d.Array, []int16{-11, 20, 3, 4}, ndarray.Whole(d.Shape())); err != nil {
			log.Fatal(err)
		}
		if err := d.Commit(ctx); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

func ExampleOpen() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	a, err := hyperslab.Open(ctx, filepath.Join(dir, "sea.h5")+":/ocean/depth", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	part := make([]int16, 2)
	err = ndarray.Read(ctx, a, part, ndarray.Region{Start: []int64{1}, Shape: []int64{2}})
	fmt.Println(part, err)
	// Output: [20 3] <nil>
}

func ExampleCreate() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	// The array is added to the file, which is replaced at Commit.
	d, err := hyperslab.Create(ctx, filepath.Join(dir, "sea.h5")+":/ocean/salt", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[float32]()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close() // discards the array unless it is committed
	if err := ndarray.Write(ctx, d.Array, []float32{34.5, 35}, ndarray.Whole(d.Shape())); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Commit(ctx))
	// Output: <nil>
}

func ExampleUpdate() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	file := filepath.Join(dir, "sea.h5")
	err := hyperslab.Update(ctx, file, func(copy string) error {
		source := ndarray.Attr{Name: "source", Value: ndarray.Text("survey 7")}
		return hyperslab.EditGroupAttrs(ctx, copy+":/ocean", []ndarray.Attr{source}, nil)
	})
	if err != nil {
		log.Fatal(err)
	}
	tree, err := hyperslab.OpenTree(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	attrs, err := tree.GroupAttrs(ctx, "/ocean")
	source, _ := attrs.Get("source")
	fmt.Println(source, err)
	// Output: "survey 7" <nil>
}

func ExampleEditGroupAttrs() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	file := filepath.Join(dir, "sea.h5")
	version := ndarray.Attr{Name: "version", Value: ndarray.Scalar[int32](2)}
	if err := hyperslab.EditGroupAttrs(ctx, file+":/ocean", []ndarray.Attr{version}, nil); err != nil {
		log.Fatal(err)
	}
	tree, err := hyperslab.OpenTree(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	attrs, err := tree.GroupAttrs(ctx, "/ocean")
	fmt.Println(attrs.List[0].Name, attrs.List[0].Value, err)
	// Output: version 2 <nil>
}

func ExampleOpenTree() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	tree, err := hyperslab.OpenTree(ctx, filepath.Join(dir, "sea.h5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	for e, err := range tree.Walk(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Kind != hyperslab.Array {
			continue
		}
		a, err := tree.Open(ctx, e.Path)
		if err != nil {
			log.Fatal(err)
		}
		sum, err := ndarray.Summarize(ctx, a, nil)
		fmt.Println(e.Path, sum.Mean, err, a.Close())
	}
	// Output: /ocean/depth 4 <nil> <nil>
}

func ExampleSniff() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	format, err := hyperslab.Sniff(filepath.Join(dir, "depth.b2nd"))
	fmt.Println(format, err)
	// Output: b2nd <nil>
}

func ExampleOpenReaderAt() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	content, err := os.ReadFile(filepath.Join(dir, "sea.h5"))
	if err != nil {
		log.Fatal(err)
	}
	o := &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}} // a worker needs Init in main
	a, err := hyperslab.OpenReaderAt(ctx, bytes.NewReader(content), int64(len(content)), "upload.h5", "/ocean/depth", o)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	values, err := ndarray.ReadAll[int16](ctx, a)
	_, isolated := hyperslab.Sandbox(a)
	fmt.Println(values, err, isolated)
	// Output: [-11 20 3 4] <nil> false
}

func ExampleSandbox() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	o := &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}}
	a, err := hyperslab.Open(context.Background(), filepath.Join(dir, "depth.b2nd"), o)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	isolation, ok := hyperslab.Sandbox(a)
	fmt.Printf("%q %v\n", isolation, ok)
	// Output: "" false
}

// Split an array into two shards and join them again.
func ExampleSplit() {
	ctx := context.Background()
	dir, file, parts := fourChunks(ctx)
	defer os.RemoveAll(dir)
	fmt.Println(hyperslab.Split(ctx, file, parts))
	// Output: <nil>
}

func ExampleJoin() {
	ctx := context.Background()
	dir, file, parts := fourChunks(ctx)
	defer os.RemoveAll(dir)
	if err := hyperslab.Split(ctx, file, parts); err != nil {
		log.Fatal(err)
	}
	if err := hyperslab.Join(ctx, filepath.Join(dir, "joined"), parts); err != nil {
		log.Fatal(err)
	}
	r, err := hyperslab.Compare(ctx, file, filepath.Join(dir, "joined"), nil)
	fmt.Println(len(r.Differences), err)
	// Output: 0 <nil>
}

// JoinFS shows several shards as one tree without copying them.
func ExampleJoinFS() {
	ctx := context.Background()
	dir, file, parts := fourChunks(ctx)
	defer os.RemoveAll(dir)
	if err := hyperslab.Split(ctx, file, parts); err != nil {
		log.Fatal(err)
	}
	joined := hyperslab.JoinFS(os.DirFS(parts[0].Dir), os.DirFS(parts[1].Dir))
	chunks, err := fs.Glob(joined, "data/*.blp")
	fmt.Println(len(chunks), err)
	// Output: 4 <nil>
}

// fourChunks writes a bcolz array of four chunks to a temporary directory. It also returns two
// shards of two chunks each, which do not exist yet.
func fourChunks(ctx context.Context) (dir, file string, parts []hyperslab.Shard) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	file = filepath.Join(dir, "a.bcolz")
	d, err := hyperslab.Create(ctx, file, ndarray.Spec{Shape: []int64{4}, ChunkShape: []int64{1}, DType: ndarray.DTypeOf[int16]()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	if err := ndarray.Write(ctx, d.Array, []int16{1, 2, 3, 4}, ndarray.Whole(d.Shape())); err != nil {
		log.Fatal(err)
	}
	if err := d.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	return dir, file, []hyperslab.Shard{
		{Dir: filepath.Join(dir, "first"), End: 2},
		{Dir: filepath.Join(dir, "second"), First: 2, End: 4},
	}
}

// Init must be the first call of main. In a worker process it does not return.
func ExampleInit() {
	hyperslab.Init()
	fmt.Println("in the program")
	// Output: in the program
}
