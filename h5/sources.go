// Missing sources of virtual datasets, whose elements libhdf5 reads as fill value without an error.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// MissingSource is a source of a virtual dataset that cannot be opened.
type MissingSource struct {
	File    string // file name of the mapping, with %b replaced by the block number
	Dataset string
	Err     error // error of the file at its last search location, or of the dataset in the file
}

// maxMissingBlocks is the number of missing blocks of one mapping after which the search ends.
const maxMissingBlocks = 1000

// MissingSources searches for the files and datasets of the mappings of a virtual dataset as
// libhdf5 does. It returns those that are missing, each once and in the order of the mappings.
// Their elements are read as fill value. For a mapping with %b these are the blocks inside the
// present shape, at most the first 1,000, because a file of a few bytes can have any shape. Each
// source is opened and closed.
//
// A source is first searched for under its absolute name (H5Pset_virtual_prefix). Then its name is
// searched for in the directories of the environment variable HDF5_VDS_PREFIX, or if that is not
// set in DatasetAccess.VirtualPrefix. The next locations are the directory of the file, the working
// directory, and the directory of the target of the file's symbolic link. A source must open in the
// mode of the file: for writing if the file is open for writing.
//
// It returns ErrParam for a dataset that is not virtual.
func (d *Dataset) MissingSources() ([]MissingSource, error) {
	const op = "find sources"
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	if info.Layout != Virtual {
		return nil, &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: a %v dataset has no sources", ErrParam, info.Layout)}
	}
	look, err := d.lookout()
	if err != nil {
		return nil, err
	}
	var missing []MissingSource
	absent := map[[2]string]bool{} // by file and dataset: true if missing, false if found
	for _, m := range info.Mappings {
		blocks := 0 // number of missing blocks
		for block := range m.blocks(info.Space) {
			s := MissingSource{File: numbered(m.File, block), Dataset: numbered(m.Dataset, block)}
			key := [2]string{s.File, s.Dataset}
			if _, looked := absent[key]; !looked {
				s.Err = look.open(s.File, s.Dataset)
				absent[key] = s.Err != nil
				if s.Err != nil {
					missing = append(missing, s)
				}
			}
			if absent[key] {
				blocks++
			}
			if blocks == maxMissingBlocks {
				break
			}
		}
	}
	return missing, nil
}

// blocks returns the number of sources of a mapping in a dataset of that shape: 1 without %b.
func (m *Mapping) blocks(space Dataspace) int64 {
	if numbered(m.File, 0) == numbered(m.File, 1) && numbered(m.Dataset, 0) == numbered(m.Dataset, 1) {
		return 1
	}
	r := &m.Region
	for i, n := range r.Count {
		if n != Unlimited {
			continue
		}
		stride := int64(1)
		if r.Stride != nil {
			stride = max(r.Stride[i], 1)
		}
		if left := space.Dims[i] - r.Start[i]; left > 0 {
			return grid.DivUp(left, stride)
		}
	}
	return 0
}

// numbered replaces each %b by the block number and each %% by % (H5D_virtual_parse_source_name).
func numbered(name string, block int64) string {
	return strings.NewReplacer("%%", "%", "%b", strconv.FormatInt(block, 10)).Replace(name)
}

// lookout contains the search locations of a dataset's sources.
type lookout struct {
	home *Dataset
	file string // file that contains the dataset
	dirs []string
	o    OpenOptions
}

func (d *Dataset) lookout() (*lookout, error) {
	a, err := d.Access()
	if err != nil {
		return nil, err
	}
	var blob C.goh5_blob_t
	err = d.run("find sources", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_home(cerr, id, &blob) })
	if err != nil {
		return nil, err
	}
	r := takeBlob(&blob)
	l := &lookout{home: d, file: r.text(), o: OpenOptions{}}
	if r.bool() {
		l.o.Mode = ReadWrite
	}
	l.o.SWMR = r.bool()
	access, _, _, err := d.file.Access()
	if err != nil {
		return nil, err
	}
	l.o.Access = &access
	beside := filepath.Dir(l.file)
	prefix := cmem.Env("HDF5_VDS_PREFIX")
	for _, dir := range strings.Split(prefix, ":") {
		l.add(dir)
	}
	if prefix == "" {
		prefix = a.VirtualPrefix
	}
	if rest, ok := strings.CutPrefix(prefix, "${ORIGIN}"); ok {
		prefix = beside + rest
	}
	l.add(prefix)
	l.add(beside)
	l.add(".")
	if real, err := filepath.EvalSymlinks(l.file); err == nil {
		l.add(filepath.Dir(real))
	}
	return l, nil
}

func (l *lookout) add(dir string) {
	if dir != "" {
		l.dirs = append(l.dirs, dir)
	}
}

// open opens a source and closes it.
func (l *lookout) open(file, dataset string) error {
	if file == "." {
		root, err := l.home.Root()
		if err != nil {
			return err
		}
		defer root.Close()
		return tryDataset(root, dataset)
	}
	if l.home.h.ids.reader != 0 {
		return &OutsideError{file}
	}
	var names []string
	if filepath.IsAbs(file) {
		names = append(names, file)
		file = filepath.Base(file)
	}
	for _, dir := range l.dirs {
		names = append(names, filepath.Join(dir, file))
	}
	var err error
	for _, name := range names {
		var f *File
		if f, err = OpenWith(name, &l.o); err == nil {
			defer f.Close()
			return tryDataset(f.Root(), dataset)
		}
	}
	return err
}

func tryDataset(root *Group, name string) error {
	d, err := root.OpenDataset(name)
	if err != nil {
		return err
	}
	return d.Close()
}
