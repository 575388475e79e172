package b2nd_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// This example writes an array with an attribute that python-blosc2 reads as array.vlmeta["unit"].
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "temperature.b2nd")

	b, err := b2nd.Create(path, ndarray.Spec{
		Shape: []int64{2, 3}, DType: ndarray.DTypeOf[float32](),
		Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	if err := ndarray.Write(ctx, a, []float32{271, 272, 273, 274, 275, 276}, ndarray.Whole(a.Shape())); err != nil {
		log.Fatal(err)
	}
	if err := a.Close(); err != nil {
		log.Fatal(err)
	}

	b, err = b2nd.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	if a, err = ndarray.New(b); err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	row := make([]float32, 3)
	if err := ndarray.Read(ctx, a, row, ndarray.Region{Start: []int64{1, 0}, Shape: []int64{1, 3}}); err != nil {
		log.Fatal(err)
	}
	attrs, err := a.Attrs(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(row, attrs.List[0].Value, a.Meta().Compression)
	// Output: [274 275 276] "K" shuffle + zstd 5
}
