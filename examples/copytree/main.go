// Program copytree copies a netCDF-4 file to a directory of b2nd files, and shows the report of a
// copy that the target format cannot represent.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab"
)

func main() {
	ctx := context.Background()
	tree, err := hyperslab.OpenTree(ctx, "testdata/etopo120.h5", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	stats, err := hyperslab.CopyTree(ctx, "etopo", tree, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Arrays, "arrays,", stats.Bytes, "bytes,", len(stats.Lost), "losses")
	// All columns of a bcolz ctable have the same length, and these arrays do not.
	stats, err = hyperslab.CopyTree(ctx, "etopo.bcolz", tree, nil)
	if !errors.Is(err, errors.ErrUnsupported) {
		log.Fatalf("got %v, want a list of losses", err)
	}
	for _, p := range stats.Refused { // nothing has been written
		fmt.Println("cannot keep:", p.Path, p.What)
	}
}
