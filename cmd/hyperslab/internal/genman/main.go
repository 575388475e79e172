// Command genman writes the manual pages of hyperslab into the given directory.
package main

import (
	"fmt"
	"os"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genman DIRECTORY")
		os.Exit(2)
	}
	if err := os.MkdirAll(os.Args[1], 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "genman:", err)
		os.Exit(1)
	}
	if err := cli.WriteMan(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "genman:", err)
		os.Exit(1)
	}
}
