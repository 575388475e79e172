// Command api accounts for every public function of the linked C libraries: it
// writes cblosc/API.md and h5/API.md, which say by what Go function each is bound,
// or that it is not. `make api` runs it; with -check it writes nothing and fails
// if a file is not what it would write.
//
// The list of functions is what the archives export. Bound is what the objects of
// the shims leave undefined, as nm tells; who calls it is found in the sources.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// library is one C library and the package that binds it.
type library struct {
	dir, name, archive string
	headers            []string // patterns below include/, in the order of the sections
}

var libraries = []library{
	{"cblosc", "C-Blosc2", "libgoblosc2.a", []string{"blosc2.h", "b2nd.h", "blosc2/*.h"}},
	{"h5", "HDF5", "libgohdf5.a", []string{"H5*public.h", "H5*develop.h", "H5FD*.h", "H5VL*.h", "H5*.h"}},
}

func main() {
	check := flag.Bool("check", false, "write nothing; fail if a file is out of date")
	build := flag.String("build", "third_party/build", "what make deps built")
	flag.Parse()
	if err := run(*build, *check); err != nil {
		fmt.Fprintf(os.Stderr, "api: %v\n", err)
		os.Exit(1)
	}
}

func run(build string, check bool) error {
	for _, lib := range libraries {
		functions, err := account(build, lib)
		if err != nil {
			return fmt.Errorf("%s: %w", lib.dir, err)
		}
		var text bytes.Buffer
		write(&text, lib, functions)
		file := filepath.Join(lib.dir, "API.md")
		if check {
			have, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if !bytes.Equal(have, text.Bytes()) {
				return fmt.Errorf("%s is out of date: run make api", file)
			}
			continue
		}
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
