// Program weaviate streams vectors in batches, as github.com/weaviate/weaviate-benchmarking does.
package main

import (
	"context"
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
	train, _ := tree.Open(ctx, "train") // a program checks the errors
	ragged, _ := tree.Open(ctx, "ragged")
	defer train.Close()
	defer ragged.Close()
	for at := int64(0); at < 1000; at += 300 {
		vectors, err := batch(ctx, train, at, min(300, 1000-at))
		fmt.Println(at, len(vectors), vectors[0][:3], err)
	}
	lists, err := ndarray.ReadAll[[]float32](ctx, ragged) // each has some vectors of 8 numbers
	fmt.Println(len(lists), slices.Collect(slices.Chunk(lists[1], 8)), err)
}

// batch reads n rows, of float32 or of numbers that float32 can represent.
func batch(ctx context.Context, a *ndarray.Array, at, n int64) ([][]float32, error) {
	r := ndarray.Region{Start: []int64{at, 0}, Shape: []int64{n, a.Shape()[1]}}
	b := make([]float32, r.NumElems())
	err := ndarray.ReadAs(ctx, a, b, r)
	return slices.Collect(slices.Chunk(b, int(a.Shape()[1]))), err
}
