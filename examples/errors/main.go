// Program errors distinguishes kinds of errors.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

func main() {
	ctx := context.Background()
	_, err := hyperslab.Open(ctx, "missing.h5:/x", nil)
	fmt.Println(errors.Is(err, ndarray.ErrNotFound), errors.Is(err, fs.ErrNotExist))

	_, err = hyperslab.Open(ctx, "testdata/etopo120.h5:/missing", nil)
	var e *ndarray.Error
	if !errors.As(err, &e) {
		log.Fatal(err)
	}
	fmt.Println(e.Op, e.Path, errors.Is(err, ndarray.ErrNotFound))

	if err := os.WriteFile("text.h5", []byte("not HDF5\n"), 0o666); err != nil {
		log.Fatal(err)
	}
	_, err = hyperslab.Open(ctx, "text.h5:/x", nil)
	fmt.Println(errors.Is(err, ndarray.ErrFormat))

	a, err := hyperslab.Open(ctx, "testdata/etopo120.h5:/ROSE", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = ndarray.Read(ctx, a, make([]float64, 1), ndarray.Region{Start: []int64{0, 0}, Shape: []int64{1, 1}})
	fmt.Println(errors.Is(err, ndarray.ErrType))
	if err := a.Close(); err != nil {
		log.Fatal(err)
	}
	_, err = ndarray.ReadAll[float32](ctx, a)
	fmt.Println(errors.Is(err, ndarray.ErrClosed))
}
