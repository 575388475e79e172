// Program gomlx lists datasets and loads their bytes, as github.com/gomlx/gomlx does with h5dump.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

func main() {
	err := load(context.Background(), "ann.h5", func(e hyperslab.Entry, b []byte) {
		fmt.Println(e.Path, e.Type, e.Meta.Shape, len(b))
	})
	if err != nil {
		log.Fatal(err)
	}
}

// load calls use for each dataset of numbers, with its elements in the machine's byte order.
func load(ctx context.Context, file string, use func(e hyperslab.Entry, b []byte)) error {
	for e, err := range hyperslab.Walk(ctx, file, nil) {
		if err == nil && e.Kind == hyperslab.Array && e.Meta.DType.Size > 0 { // not sequences
			var a *ndarray.Array
			if a, err = hyperslab.Open(ctx, file+":"+e.Path, nil); err == nil {
				b := make([]byte, a.NBytes())
				err = a.Read(ctx, b, ndarray.Whole(a.Shape()))
				a.Close()
				use(e, b)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
