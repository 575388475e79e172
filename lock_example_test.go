package hyperslab_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Two changes of a file under one lock: no other writer can change the file between them.
func ExampleLockFile() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "x.b2nd")
	d, err := hyperslab.Create(ctx, file, ndarray.Spec{DType: ndarray.DTypeOf[int32](), Shape: []int64{3}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := d.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	lock, err := hyperslab.LockFile(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release()
	for n := range int32(2) {
		a, err := hyperslab.Open(ctx, file, &hyperslab.OpenOptions{Write: true, Lock: lock})
		if err != nil {
			log.Fatal(err)
		}
		if err := ndarray.Append(ctx, a, 0, []int32{n}); err != nil {
			log.Fatal(err)
		}
		fmt.Println(a.Shape())
		if err := a.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// [4]
	// [5]
}
