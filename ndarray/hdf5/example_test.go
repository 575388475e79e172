package hdf5_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// This example writes a compressed dataset and reads a column. h5py reads the dataset as
// f["/temperature"], with the attribute "units".
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "x.h5")

	b, err := hdf5.Create(path, "/temperature", ndarray.Spec{
		Shape: []int64{2, 3}, ChunkShape: []int64{1, 3}, DType: ndarray.DTypeOf[float32](),
		Attrs:       []ndarray.Attr{{Name: "units", Value: ndarray.Text("K")}},
		Compression: hdf5.DefaultCompression(),
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

	if b, err = hdf5.Open(path, "/temperature", nil); err != nil {
		log.Fatal(err)
	}
	if a, err = ndarray.New(b); err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	column := make([]float32, 2)
	if err := ndarray.Read(ctx, a, column, ndarray.Region{Start: []int64{0, 1}, Shape: []int64{2, 1}}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(column, a.Meta().Compression)
	// Output: [272 275] shuffle + deflate 4
}
