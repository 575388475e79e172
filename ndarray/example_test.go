package ndarray_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// Edge chunks are clipped to the array, so the chunk sizes add up to exactly the number of
// elements.
func ExampleArray_ChunkRegions() {
	b, err := mem.New(ndarray.Spec{Shape: []int64{2, 5}, ChunkShape: []int64{2, 2}, DType: ndarray.DTypeOf[float32]()})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()

	var total int64
	for r := range a.ChunkRegions() {
		fmt.Println(r, r.Shape)
		total += r.NumElems()
	}
	fmt.Println("elements:", total)
	// Output:
	// [0:2, 0:2] [2 2]
	// [0:2, 2:4] [2 2]
	// [0:2, 4:5] [2 1]
	// elements: 10
}

// A typed read requires exactly the element type of the array, but in any byte order.
func ExampleRead() {
	ctx := context.Background()
	d, err := ndarray.ParseDType(">i2")
	if err != nil {
		log.Fatal(err)
	}
	b, err := mem.New(ndarray.Spec{Shape: []int64{2, 3}, DType: d})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if err := ndarray.Write(ctx, a, []int16{1, 2, 3, 4, 5, 6}, ndarray.Whole(a.Shape())); err != nil {
		log.Fatal(err)
	}

	column := make([]int16, 2)
	err = ndarray.Read(ctx, a, column, ndarray.Region{Start: []int64{0, 1}, Shape: []int64{2, 1}})
	fmt.Println(column, err)
	// Output: [2 5] <nil>
}

// Compare counts all differences and returns the first ones.
func ExampleCompare() {
	ctx := context.Background()
	open := func(v ...int64) *ndarray.Array {
		b, err := mem.New(ndarray.Spec{Shape: []int64{int64(len(v))}, DType: ndarray.DTypeOf[int64]()})
		if err != nil {
			log.Fatal(err)
		}
		a, err := ndarray.New(b)
		if err != nil {
			log.Fatal(err)
		}
		if err := ndarray.Write(ctx, a, v, ndarray.Whole(a.Shape())); err != nil {
			log.Fatal(err)
		}
		return a
	}
	c, err := ndarray.Compare(ctx, open(1, 9007199254740992, 3), open(1, 9007199254740993, 4), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("same:", c.Equal())
	fmt.Println("different elements:", c.NumDiffs)
	fmt.Println("first at", c.Diffs[0].Index, "is", c.Diffs[0].A, "and", c.Diffs[0].B)
	// Output:
	// same: false
	// different elements: 2
	// first at [1] is 9007199254740992 and 9007199254740993
}

// Copy copies the elements between arrays. Their chunk grids may differ.
func ExampleCopy() {
	ctx := context.Background()
	array := func(chunk []int64) *ndarray.Array {
		b, err := mem.New(ndarray.Spec{Shape: []int64{1000, 1000}, ChunkShape: chunk, DType: ndarray.DTypeOf[float64]()})
		if err != nil {
			log.Fatal(err)
		}
		a, err := ndarray.New(b)
		if err != nil {
			log.Fatal(err)
		}
		return a
	}
	rows, columns := array([]int64{10, 1000}), array([]int64{1000, 10})
	stats, err := ndarray.Copy(ctx, columns, rows, &ndarray.CopyOptions{Memory: 16 << 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Bytes, "bytes copied, memory kept:", stats.PeakBuffer <= 16<<20)
	// Output: 8000000 bytes copied, memory kept: true
}

// This example reads int16 elements as float64. Every value must be exactly representable.
func ExampleReadAs() {
	ctx := context.Background()
	b, err := mem.New(ndarray.Spec{Shape: []int64{3}, DType: ndarray.DTypeOf[int16]()})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if err := ndarray.Write(ctx, a, []int16{7, 8, 300}, ndarray.Whole(a.Shape())); err != nil {
		log.Fatal(err)
	}
	values := make([]float64, 3)
	fmt.Println(ndarray.ReadAs(ctx, a, values, ndarray.Whole(a.Shape())), values)
	fmt.Println(ndarray.ReadAs(ctx, a, make([]uint8, 3), ndarray.Whole(a.Shape())))
	// Output:
	// <nil> [7 8 300]
	// ndarray: read: value does not fit: element [2]: 300 is not a value of |u1
}
