// Command demo converts every numeric dataset of HDF5 files to other formats and back, and proves
// that the values are unchanged. `make demo` runs it on real measurements.
//
// The round trips are HDF5 → b2nd in one file → HDF5 and HDF5 → b2nd in a sparse directory → HDF5,
// by `hyperslab convert`. `hyperslab diff` compares each of the four results with the original, and
// the reference h5diff compares both HDF5 results. The exit status is 0 if there are no differences
// and no errors, otherwise 1.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	command := flag.String("hyperslab", "bin/hyperslab", "the command under demonstration")
	reference := flag.String("h5diff", "third_party/build/bin/h5diff", "HDF5's own comparison")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: demo [-hyperslab PROGRAM] [-h5diff PROGRAM] FILE.h5 ...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(execTool(*command), execTool(*reference), flag.Args(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

// run processes all files and writes the table and the verdict.
func run(hyperslab, h5diff tool, files []string, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp("", "hyperslab-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := prover{hyperslab: hyperslab, h5diff: h5diff, dir: dir}
	sets, err := p.numericDatasets(files)
	if err != nil {
		return err
	}
	writeLeftOut(stdout, sets)
	shown := newProgress(stderr, len(sets))
	var rows []row
	for _, d := range sets {
		shown.next(d.label())
		rows = append(rows, p.prove(d))
	}
	shown.done()
	writeTable(stdout, rows)
	return verdict(stdout, rows)
}
