// Command hyperslab lists, inspects, converts and compares arrays in Blosc2, Caterva, bcolz and
// HDF5 files. See `hyperslab help`.
package main

import (
	"fmt"
	"os"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
)

func main() {
	hyperslab.Init()
	// Of libhdf5's variables this one is useful, for file systems without locks, and it loads no
	// code.
	if v, ok := os.LookupEnv("HDF5_USE_FILE_LOCKING"); ok {
		if err := os.Setenv("HDF5_USE_FILE_LOCKING", v); err != nil {
			fmt.Fprintln(os.Stderr, "hyperslab:", err)
			os.Exit(1)
		}
	}
	cli.CatchCrashes()
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
