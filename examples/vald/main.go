// Program vald loads a file of ann-benchmarks.com as the benchmarks of github.com/vdaas/vald do.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

func main() {
	ctx := context.Background()
	tree, err := hyperslab.OpenTree(ctx, "ann.h5", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	train, err1 := load[float32](ctx, tree, "train")
	neighbors, err2 := load[int32](ctx, tree, "neighbors")
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(train), len(train[0]), train[999][:3], neighbors[99][:3])
}

// load returns the rows of a dataset, which share one buffer.
func load[T any](ctx context.Context, tree *hyperslab.Tree, name string) ([][]T, error) {
	a, err := tree.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	all, err := ndarray.ReadAll[T](ctx, a)
	return slices.Collect(slices.Chunk(all, int(a.Shape()[1]))), err
}
