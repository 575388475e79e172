package mem_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// This example uses an array in memory where a program expects one of a file, for example in a
// test.
func Example() {
	ctx := context.Background()
	b, err := mem.New(ndarray.Spec{Shape: []int64{2, 2}, DType: ndarray.DTypeOf[int32]()})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if err := ndarray.Write(ctx, a, []int32{1, 2, 3, 4}, ndarray.Whole(a.Shape())); err != nil {
		log.Fatal(err)
	}
	s, err := ndarray.Summarize(ctx, a, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Count, s.Min, s.Max, s.Mean)
	// Output: 4 1 4 2.5
}
