package verify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

func ExampleFile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.b2nd")
	d, err := hyperslab.Create(ctx, path, ndarray.Spec{Shape: []int64{100}, ChunkShape: []int64{20}, DType: ndarray.DTypeOf[int32]()}, nil)
	if err == nil {
		err = ndarray.Write(ctx, d.Array, make([]int32, 100), ndarray.Whole(d.Shape()))
	}
	if err == nil {
		err = d.Commit(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := verify.File(ctx, path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range r.Damages {
		fmt.Println(d)
	}
	fmt.Println(r.Format, r.Chunks, "chunks, exit code", r.ExitCode())
	// Output: b2nd 5 chunks, exit code 0
}
