// Program write creates a compressed array, appends a row and prints the result.
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
	if err := create(ctx); err != nil {
		log.Fatal(err)
	}
	if err := extend(ctx); err != nil {
		log.Fatal(err)
	}
}

func create(ctx context.Context) error {
	draft, err := hyperslab.Create(ctx, "temperature.b2nd", ndarray.Spec{
		Shape:       []int64{2, 3},
		DType:       ndarray.DTypeOf[float32](),
		Compression: &ndarray.Compression{Codec: "zstd", Level: 5, Filters: []string{"shuffle"}},
		Attrs:       []ndarray.Attr{{Name: "units", Value: ndarray.Text("K")}},
	}, &hyperslab.CreateOptions{Overwrite: true})
	if err != nil {
		return err
	}
	defer draft.Close() // discards the draft if Commit was not called
	values := []float32{280, 281, 282, 283, 284, 285}
	if err := ndarray.Write(ctx, draft.Array, values, ndarray.Whole(draft.Shape())); err != nil {
		return err
	}
	return draft.Commit(ctx) // only now the file has its name
}

func extend(ctx context.Context) error {
	a, err := hyperslab.Open(ctx, "temperature.b2nd", &hyperslab.OpenOptions{Durable: true})
	if err != nil {
		return err
	}
	defer a.Close()
	if err := ndarray.Append(ctx, a, 0, []float32{286, 287, 288}); err != nil {
		return err
	}
	all, err := ndarray.ReadAll[float32](ctx, a)
	fmt.Println(a.Shape(), a.Meta().Compression, all)
	return err
}
