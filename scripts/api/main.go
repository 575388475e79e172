// Command api accounts for every public function of the linked C libraries. It writes cblosc/API.md
// and h5/API.md, which list for each function the Go function that binds it and a test that calls
// that, its replacement, or the reason why it is left out. `make api` runs it. With -check it
// writes no files, and fails if a file is out of date or a function has no row. With -prove it runs
// the test of each bound function against a build that counts the calls, and fails if the test does
// not call the function, or passes although the function has no effect. Arguments name the
// packages: cblosc, h5.
//
// The functions are those that the archives export. Bound ones are undefined symbols of the shims'
// object files, which nm lists; the sources show their callers. All others need a row in the files
// *.rows in this directory, whose format rows.go documents.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// library is one C library and the package that binds it.
type library struct {
	dir, name, archive string
	headers            []string // patterns in the directory of the libraries, in the order of the sections
	rows               string
	above              []string // packages on top of dir that rows and tests may use
}

var libraries = []library{
	{"cblosc", "C-Blosc2", "libgoblosc2.a", []string{"blosc2.h", "b2nd.h", "blosc2/*.h"}, "scripts/api/cblosc.rows", nil},
	{"h5", "HDF5", "libgohdf5.a", []string{"H5*public.h", "H5*develop.h", "H5FD*.h", "H5VL*.h", "H5*.h"}, "scripts/api/h5.rows", []string{"h5/h5value", "internal/hdf5/h5elem"}},
}

func main() {
	check := flag.Bool("check", false, "write no file; fail if a file is out of date or a row is missing")
	prove := flag.Bool("prove", false, "run the test of each bound function against an instrumented build; fail if it does not call the function, or passes although the function has no effect")
	fix := flag.Bool("fix", false, "with -prove: write rows with better tests to the rows files")
	libs := flag.String("libraries", "third_party/lib/"+runtime.GOOS+"_"+runtime.GOARCH, "the directory of the archives and headers")
	flag.Parse()
	var failed []error
	for _, lib := range libraries {
		if flag.NArg() == 0 || slices.Contains(flag.Args(), lib.dir) {
			failed = append(failed, run(*libs, lib, *check, *prove, *fix))
		}
	}
	if err := errors.Join(failed...); err != nil {
		fmt.Fprintf(os.Stderr, "api: %v\n", err)
		os.Exit(1)
	}
}

func run(libs string, lib library, check, prove, fix bool) error {
	s, err := gather(libs, lib)
	if err != nil {
		return fmt.Errorf("%s: %w", lib.dir, err)
	}
	if prove {
		return s.prove(lib.rows, fix)
	}
	return s.update(lib.rows, filepath.Join(lib.dir, "API.md"), check)
}

// update writes the account to a file, or compares the two if check is set.
func (s *sources) update(rowsFile, file string, check bool) error {
	rows, err := readRows(rowsFile)
	if err != nil {
		return err
	}
	functions, err := s.account(rows)
	var text bytes.Buffer
	write(&text, s.library, functions)
	if !check {
		if werr := os.WriteFile(file, text.Bytes(), 0o644); werr != nil {
			return werr
		}
	} else if have, rerr := os.ReadFile(file); rerr != nil {
		return rerr
	} else if !bytes.Equal(have, text.Bytes()) {
		return fmt.Errorf("%s is out of date: run make api", file)
	}
	return errors.Join(err, verdict(s.library, functions, rows, check))
}

// verdict returns an error with -check if more functions lack a row or a test than the rows file
// allows.
func verdict(lib library, functions []function, rows *rows, check bool) error {
	var bad []string
	for _, f := range functions {
		if c := f.complaint(); c != "" {
			bad = append(bad, fmt.Sprintf("%s: %s", f.name, c))
		}
	}
	switch {
	case check && len(bad) > rows.missing:
		return fmt.Errorf("%s: %d functions without a row or a test, %s lets %d pass:\n\t%s", lib.dir, len(bad), rows.file, rows.missing, strings.Join(bad, "\n\t"))
	case !check:
		fmt.Printf("%s: %d functions without a row or a test\n", lib.dir, len(bad))
		for _, b := range bad {
			fmt.Println("\t" + b)
		}
	}
	return nil
}
