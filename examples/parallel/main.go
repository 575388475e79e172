// Program parallel computes statistics on all cores in bounded memory.
package main

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

func main() {
	ndarray.SetReadMemory(64 << 20) // scratch memory of all reads of the process
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := hyperslab.Open(ctx, "testdata/etopo120.h5:/ROSE", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()

	sum, err := ndarray.Summarize(ctx, a, &ndarray.WorkOptions{Workers: 2, Memory: 16 << 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d values from %.1f to %.1f\n", sum.Count, sum.Min, sum.Max)

	// Each calls the function from several goroutines, once for each part of the array.
	var bytes atomic.Int64
	err = ndarray.Each(ctx, a, nil, func(_ context.Context, _ ndarray.Region, b []byte) error {
		bytes.Add(int64(len(b)))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bytes.Load(), "bytes")
}
