// Program addarray adds an array to an HDF5 file that exists, then sets an attribute of its group.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

func main() {
	ctx := context.Background()
	if err := os.CopyFS(".", os.DirFS("testdata")); err != nil { // etopo120.h5
		log.Fatal(err)
	}
	if err := add(ctx, "etopo120.h5:/derived/slope", []float64{0.1, 0.2, 0.3}); err != nil {
		log.Fatal(err)
	}
	// Update changes a copy, which then replaces the file.
	err := hyperslab.Update(ctx, "etopo120.h5", func(file string) error {
		source := ndarray.Attr{Name: "source", Value: ndarray.Text("ROSE")}
		return hyperslab.EditGroupAttrs(ctx, file+":/derived", []ndarray.Attr{source}, nil)
	})
	if err != nil {
		log.Fatal(err)
	}
	tree, err := hyperslab.OpenTree(ctx, "etopo120.h5", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	attrs, err := tree.GroupAttrs(ctx, "/derived")
	source, _ := attrs.Get("source")
	fmt.Println("source", source, err)
}

func add(ctx context.Context, location string, values []float64) error {
	spec := ndarray.Spec{Shape: []int64{int64(len(values))}, DType: ndarray.DTypeOf[float64]()}
	draft, err := hyperslab.Create(ctx, location, spec, nil)
	if err != nil {
		return err
	}
	defer draft.Close()
	if err := ndarray.Write(ctx, draft.Array, values, ndarray.Whole(draft.Shape())); err != nil {
		return err
	}
	return draft.Commit(ctx)
}
