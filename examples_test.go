package hyperslab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
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
	fmt.Println(values, err)
	// Output: [-11 20 3 4] <nil>
}

// One file with coordinates and a variable over them. Several goroutines could write the arrays.
func ExampleCreateTree() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	file := filepath.Join(dir, "new.h5")
	draft, err := hyperslab.CreateTree(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer draft.Close() // discards the file if Commit was not called
	add := func(path string, values []float32, shape ...int64) {
		a, err := draft.Create(ctx, path, ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[float32]()})
		if err != nil {
			log.Fatal(err)
		}
		if err := ndarray.Write(ctx, a, values, ndarray.Whole(shape)); err != nil {
			log.Fatal(err)
		}
	}
	if err := draft.CreateGroup(ctx, "/model", ndarray.Attr{Name: "title", Value: ndarray.Text("sea")}); err != nil {
		log.Fatal(err)
	}
	add("/model/lat", []float32{10, 20}, 2)
	add("/model/lon", []float32{5, 6, 7}, 3)
	add("/model/depth", []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for dim, scale := range []string{"/model/lat", "/model/lon"} {
		if err := draft.AttachScale("/model/depth", dim, scale); err != nil {
			log.Fatal(err)
		}
	}
	if err := draft.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	for e, err := range hyperslab.Walk(ctx, file, nil) {
		fmt.Println(e.Path, e.Meta.Shape, e.Meta.AxisNames, err)
	}
	// Output:
	// / [] [] <nil>
	// /model [] [] <nil>
	// /model/depth [2 3] [lat lon] <nil>
	// /model/lat [2] [] <nil>
	// /model/lon [3] [] <nil>
}

// The tree of an upload. In a worker process, without InProcess, a program must call Init in main.
func ExampleOpenTreeReaderAt() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	upload, err := os.ReadFile(filepath.Join(dir, "sea.h5"))
	if err != nil {
		log.Fatal(err)
	}
	o := &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}}
	tree, err := hyperslab.OpenTreeReaderAt(ctx, bytes.NewReader(upload), int64(len(upload)), "upload.h5", o)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	for e, err := range tree.Walk(ctx, nil) {
		fmt.Println(e.Path, e.Meta.Shape, err)
	}
	a, err := tree.Open(ctx, "/ocean/depth")
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	values, err := ndarray.ReadAll[int16](ctx, a)
	fmt.Println(values, err)
	// Output:
	// / [] <nil>
	// /ocean [] <nil>
	// /ocean/depth [4] <nil>
	// [-11 20 3 4] <nil>
}

// The file system can be an embed.FS or an archive; here it is a directory.
func ExampleOpenTreeFS() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	for _, name := range []string{"sea.h5", "."} { // the directory is a tree with the array depth.b2nd
		tree, err := hyperslab.OpenTreeFS(ctx, os.DirFS(dir), name, nil)
		if err != nil {
			log.Fatal(err)
		}
		for e, err := range tree.Walk(ctx, nil) {
			fmt.Println(name, tree.Format, e.Path, e.Kind, err)
		}
		if err := tree.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// sea.h5 hdf5 / group <nil>
	// sea.h5 hdf5 /ocean group <nil>
	// sea.h5 hdf5 /ocean/depth array <nil>
	// . directory / group <nil>
	// . directory /depth array <nil>
	// . directory /sea.h5 other <nil>
}

// Init must be the first call of main. In a worker process it does not return.
func ExampleInit() {
	hyperslab.Init()
	fmt.Println("in the program")
	// Output: in the program
}

// Two updates under one lock: no other writer can change the file between them.
func ExampleUpdateWith() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	file := filepath.Join(dir, "sea.h5")
	lock, err := hyperslab.LockFile(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release()
	for _, name := range []string{"ship", "crew"} {
		err := hyperslab.UpdateWith(ctx, file, &hyperslab.UpdateOptions{Lock: lock}, func(copy string) error {
			return hyperslab.EditGroupAttrs(ctx, copy+":/ocean", []ndarray.Attr{{Name: name, Value: ndarray.Text("Vega")}}, nil)
		})
		fmt.Println(name, err)
	}
	// Output:
	// ship <nil>
	// crew <nil>
}

func ExampleEncode() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	a, err := hyperslab.Open(ctx, filepath.Join(dir, "depth.b2nd"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	part, err := ndarray.View(a, ndarray.Select(ndarray.From(1)))
	if err != nil {
		log.Fatal(err)
	}
	defer part.Close()
	err = hyperslab.Encode(ctx, os.Stdout, part, hyperslab.JSON, nil)
	fmt.Println(err)
	err = hyperslab.Encode(ctx, os.Stdout, part, hyperslab.CSV, &hyperslab.EncodeOptions{Column: "depth"})
	fmt.Println(err)
	// Output:
	// [20,3,4]<nil>
	// depth
	// 20
	// 3
	// 4
	// <nil>
}

// An HTTP handler checks the array first, while it can still send a status.
func ExampleNewEncoder() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	handler := func(w http.ResponseWriter, r *http.Request) {
		a, err := hyperslab.Open(r.Context(), filepath.Join(dir, "depth.b2nd"), nil)
		if err != nil {
			http.Error(w, "no such array", http.StatusNotFound)
			return
		}
		defer a.Close()
		elements, err := hyperslab.NewEncoder(r.Context(), a, hyperslab.NDJSON, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		if _, err := io.Copy(w, elements); err != nil {
			panic(http.ErrAbortHandler) // the client notices that the response is incomplete
		}
	}
	answer := httptest.NewRecorder()
	handler(answer, httptest.NewRequest(http.MethodGet, "/depth", nil))
	fmt.Print(answer.Body)
	// Output:
	// -11
	// 20
	// 3
	// 4
}

func ExampleEncoder_WriteTo() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	a, err := hyperslab.Open(ctx, filepath.Join(dir, "depth.b2nd"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	elements, err := hyperslab.NewEncoder(ctx, a, hyperslab.NPY, nil)
	if err != nil {
		log.Fatal(err)
	}
	n, err := elements.WriteTo(io.Discard)
	fmt.Println(n, err)
	// Output: 136 <nil>
}

func ExampleEncoder_Read() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	a, err := hyperslab.Open(ctx, filepath.Join(dir, "depth.b2nd"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	elements, err := hyperslab.NewEncoder(ctx, a, hyperslab.JSON, nil)
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://example.org/depth", elements) // sent as it is read
	if err != nil {
		log.Fatal(err)
	}
	body, err := io.ReadAll(request.Body)
	fmt.Println(string(body), err)
	// Output: [-11,20,3,4] <nil>
}

func ExampleWriteFile() {
	ctx := context.Background()
	var upload bytes.Buffer
	err := hyperslab.WriteFile(ctx, &upload, "new.h5", func(location string) error {
		d, err := hyperslab.Create(ctx, location+":/depth", ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int16]()}, nil)
		if err != nil {
			return err
		}
		defer d.Close()
		if err := ndarray.Write(ctx, d.Array, []int16{-11, 20, 3, 4}, ndarray.Whole(d.Shape())); err != nil {
			return err
		}
		return d.Commit(ctx)
	})
	fmt.Printf("%q %v\n", upload.String()[1:4], err)
	// Output: "HDF" <nil>
}

func ExampleMarshalAttrs() {
	b, err := hyperslab.MarshalAttrs(ndarray.Attrs{List: []ndarray.Attr{{Name: "depth", Value: ndarray.Vector(1.5, 2)}}})
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	fmt.Println(json.Indent(&out, b, "", " "), out.String())
	// Output:
	// <nil> {
	//  "attributes": [
	//   {
	//    "name": "depth",
	//    "dtype": "<f8",
	//    "shape": [
	//     2
	//    ],
	//    "value": [
	//     1.5,
	//     2
	//    ]
	//   }
	//  ],
	//  "unsupported_attributes": []
	// }
}
