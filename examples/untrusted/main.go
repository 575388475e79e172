// Program untrusted reads an array of a file from an untrusted source in a worker process.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

func main() {
	hyperslab.Init() // first: in a worker, this call does not return

	ctx := context.Background()
	a, err := hyperslab.Open(ctx, "testdata/etopo120.h5:/ROSE", &hyperslab.OpenOptions{
		Untrusted: &hyperslab.Untrusted{
			MaxArray: 1 << 30, Memory: 1 << 30,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	storage, err := a.Storage(ctx)
	if err != nil {
		log.Fatal(err)
	}
	sum, err := ndarray.Summarize(ctx, a, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("in a worker:", storage.Isolation != "", "count:", sum.Count)
}
