// Program first opens a dataset of an HDF5 file and prints four of its elements.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

func main() {
	ctx := context.Background()
	a, err := hyperslab.Open(ctx, "testdata/etopo120.h5:/ROSE", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	fmt.Println(a.Shape(), a.DType())

	row := make([]float32, 4)
	err = ndarray.Read(ctx, a, row, ndarray.Region{Start: []int64{45, 100}, Shape: []int64{1, 4}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(row)
}
