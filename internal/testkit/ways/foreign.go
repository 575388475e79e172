// Files of other software as a set: corpora, and the test files of the libraries.

package ways

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// foreignFormats are the formats of the files in a corpus, by extension.
var foreignFormats = map[string]string{
	".h5": "hdf5", ".hdf5": "hdf5", ".nc": "hdf5", ".fast5": "hdf5", ".mat": "hdf5", ".b2nd": "b2nd", ".b2frame": "b2nd", ".caterva": "b2nd",
}

// Foreign returns the arrays below a directory that the reference libraries read: at most 8 of a
// file, of at most 256 KiB, with booleans, numbers or strings of fixed size. With every > 1 it uses
// one of so many files.
func Foreign(t testing.TB, reference *Reference, dir string, every int) *Set {
	t.Helper()
	s := &Set{Dir: dir}
	count := 0
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		format, ok := foreignFormats[filepath.Ext(file)]
		if err != nil || !ok || !d.Type().IsRegular() {
			return err
		}
		if count++; count%every != 0 {
			return nil
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		f := &File{Name: filepath.ToSlash(name), Format: format, set: s}
		f.Arrays = f.foreign(reference)
		if len(f.Arrays) > 0 {
			s.Files = append(s.Files, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// foreign returns the arrays of a file. It returns none if the reference library cannot list them.
func (f *File) foreign(reference *Reference) (arrays []*Array) {
	list, err := reference.ask("list "+f.Format, f.Path(), "")
	if err != nil {
		return nil
	}
	for _, name := range list.Names {
		x, err := reference.ask(f.Format, f.Path(), name)
		if err != nil || x.DType == "cells" {
			continue
		}
		a := &Array{File: f, Path: name, Dims: map[string]string{}, DType: x.DType, Shape: slices.Clone(x.Shape), Chunks: x.Chunks, Size: x.Size, Want: x.raw}
		if slices.Contains(a.Chunks, 0) {
			a.Chunks = nil // chunks of several sizes
		}
		if a.Shape == nil {
			a.Shape = []int64{}
		}
		if strings.HasPrefix(x.DType, "|S") {
			a.Dims["padding"] = "space" // h5py returns null bytes for it
		}
		arrays = append(arrays, a)
	}
	return arrays
}

// ForeignLimits are the limits for files of other software. They may need filters or other files,
// and untrusted files are refused if a check fails (package judge compares the verdicts).
var ForeignLimits = slices.Concat(
	[]Limit{{Ways: "*", Reason: "refused with a reason", Applies: func(*Array) bool { return true }}},
	checked("*untrusted*"), checked("*worker*"), checked("*+file*"),
)

// checked returns the limits of ways that check a file before they read it.
func checked(ways string) (limits []Limit) {
	for _, err := range []error{ndarray.ErrCorrupt, ndarray.ErrFormat, hyperslab.ErrLimit} {
		limits = append(limits, Limit{Ways: ways, Reason: "refused by a check", Err: err, Applies: func(*Array) bool { return true }})
	}
	return limits
}
