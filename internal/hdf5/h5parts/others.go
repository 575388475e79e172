// External files and the sources of virtual datasets.

package h5parts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// ExternalPath returns the path of an external file as libhdf5 searches it: a relative name begins
// in HDF5_EXTFILE_PREFIX, or in the working directory.
func ExternalPath(name string) string {
	if dir := os.Getenv("HDF5_EXTFILE_PREFIX"); dir != "" && dir != "." && !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return name
}

// SourcePath returns the path of a source file of a virtual dataset in the file at path. As
// libhdf5, it searches in HDF5_VDS_PREFIX, in the directory of that file, and then in the working
// directory.
func SourcePath(path, name string) string {
	prefix := os.Getenv("HDF5_VDS_PREFIX")
	if rest, ok := strings.CutPrefix(prefix, "${ORIGIN}"); ok {
		prefix = filepath.Join(filepath.Dir(path), rest)
	}
	if name == "." {
		return path
	}
	candidates := []string{name}
	if !filepath.IsAbs(name) {
		candidates = []string{filepath.Join(filepath.Dir(path), name), name}
		if prefix != "" {
			candidates = slices.Insert(candidates, 0, filepath.Join(prefix, name))
		}
	}
	for _, c := range candidates {
		if _, err := os.Stat(c); err == nil {
			return c
		}
	}
	return candidates[0]
}

// Literal returns the file or dataset that a name in the mapping of a virtual dataset stands for.
// It returns false for the names of a series, in which %b stands for a number. %% is one percent
// sign.
func Literal(name string) (string, bool) {
	parts := strings.Split(name, "%%")
	for _, part := range parts {
		if strings.Contains(part, "%") {
			return "", false
		}
	}
	return strings.Join(parts, "%"), true
}

// FindDataset returns the object header of a dataset in the HDF5 file at path, or nil if its path
// leads through a link that only libhdf5 follows. It returns format.ErrCorrupt if there is no such
// dataset, and the errors of Open and h5file.Open.
func FindDataset(path, name string) (o *h5file.Object, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	file, err := h5file.Open(f, size, nil)
	if err != nil {
		return nil, err
	}
	absent := &format.Error{Format: "hdf5", What: "virtual source", Got: fmt.Sprintf("no dataset %q", name), Want: "a dataset", Err: format.ErrCorrupt}
	x, err := file.Root()
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if err != nil {
			return nil, err
		}
		var next *h5file.Link
		for l, err := range x.Links() {
			if err == nil && l.Name == part {
				next = &l
				break
			}
		}
		switch {
		case next == nil:
			return nil, absent
		case next.Kind != h5file.HardLink:
			return nil, nil
		}
		x, err = file.Object(next.Target)
	}
	if err == nil && x.Kind() != h5file.DatasetKind {
		err = absent
	}
	return x, err
}
