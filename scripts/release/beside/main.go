// Command beside links Hyperslab with two other bindings of C libraries that it contains, and
// compares their results.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/DataDog/zstd"
	gonum "gonum.org/v1/hdf5"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "beside:", err)
		os.Exit(1)
	}
}

func run() error {
	data := bytes.Repeat([]byte("hyperslab "), 10_000)
	packed, err := zstd.Compress(nil, data)
	if err != nil {
		return err
	}
	if back, err := zstd.Decompress(nil, packed); err != nil || !bytes.Equal(back, data) {
		return fmt.Errorf("zstd: %w", err)
	}
	ours, err := h5.Version()
	if err != nil {
		return err
	}
	theirs, err := gonum.LibVersion()
	if err != nil {
		return err
	}
	if theirs.String() != ours {
		return fmt.Errorf("gonum uses HDF5 %v, want %v", theirs, ours)
	}
	fmt.Println("C-Blosc2", cblosc.Version(), "HDF5", ours, "zstd", len(packed))
	return nil
}
