package bcolz_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// This example reads a part of an array that bcolz wrote.
func Example() {
	ctx := context.Background()
	b, err := bcolz.Open("../../internal/format/bcolztree/testdata/rows", nil)
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	fmt.Println(a.Shape(), a.DType(), a.Meta().Compression)
	part := make([]float64, 4)
	if err := ndarray.Read(ctx, a, part, ndarray.Region{Start: []int64{1, 0, 1}, Shape: []int64{2, 1, 2}}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(part)
	// Output:
	// [5 2 3] <f8 shuffle + lz4 5
	// [7 8 13 14]
}

// This example reads the columns of a ctable.
func ExampleOpenTable() {
	table, err := bcolz.OpenTable("../../internal/format/bcolztree/testdata/table", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(table.Attrs.List[0].Value)
	for _, name := range table.Names {
		b, err := table.Column(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, b.Meta().DType, b.Meta().Shape)
		if err := b.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// "three columns"
	// id <i4 [6]
	// value <f8 [6]
	// tag |S3 [6]
}
