// Command hyperslab lists, inspects, converts and compares arrays in Blosc2,
// Caterva, bcolz and HDF5 files. `hyperslab help` says how.
package main

import (
	"os"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/ndarray/worker"
)

func main() {
	worker.Init()
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
