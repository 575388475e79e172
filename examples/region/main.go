// Program region reads parts of an array: converted to float64, strided, and one element.
package main

import (
	"context"
	"errors"
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

	// The elements are float32. Every float32 is a float64, so ReadAs converts them.
	region := ndarray.Region{Start: []int64{45, 100}, Shape: []int64{1, 2}}
	depth := make([]float64, region.NumElems())
	if err := ndarray.ReadAs(ctx, a, depth, region); err != nil {
		log.Fatal(err)
	}
	fmt.Println(depth)

	// A conversion that would change a value is an error.
	err = ndarray.ReadAs(ctx, a, make([]int16, region.NumElems()), region)
	fmt.Println(errors.Is(err, ndarray.ErrValue))

	// NumPy's notation: row 45, every 60th column, from the last one.
	s, err := ndarray.ParseSelection("[45, ::-60]")
	if err != nil {
		log.Fatal(err)
	}
	some, err := ndarray.Take[float32](ctx, a, s)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(some)
}
