// Program durable appends samples to a b2nd file so that a crash loses none that were reported.
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
	draft, err := hyperslab.Create(ctx, "log.b2nd", ndarray.Spec{
		Shape: []int64{0}, ChunkShape: []int64{1024}, DType: ndarray.DTypeOf[int64](),
	}, &hyperslab.CreateOptions{Overwrite: true})
	if err != nil {
		log.Fatal(err)
	}
	defer draft.Close()
	if err := draft.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	a, err := hyperslab.Open(ctx, "log.b2nd", &hyperslab.OpenOptions{Durable: true})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	for i := range int64(3) {
		// When Append returns nil, the elements are on disk and the file is valid.
		if err := ndarray.Append(ctx, a, 0, []int64{10 * i, 10*i + 1}); err != nil {
			log.Fatal(err)
		}
	}
	values, err := ndarray.ReadAll[int64](ctx, a)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(values)
}
