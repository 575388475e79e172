//go:build cgo

// Striped datasets: datasets over several files, with each chunk in a selectable file. The format
// is a virtual dataset over a dataset in each file, which HDF5 1.10 and later can read.
//
// In each file the chunks are consecutive along the first axis, in the order of the grid. Thus each
// stripe is one chunk of that file's dataset.

package h5

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/internal/ceil"
)

// Striping assigns the chunks of a dataset to files.
type Striping struct {
	// Files are created. Relative names are relative to the directory of the file that contains the
	// dataset.
	Files []string

	// Place returns the index of the file for the chunk at the given grid coordinates. If it is
	// nil, chunks go to the files in turn, in row-major order.
	Place func(chunk []int64) int
}

// stripes is the path of the dataset in each file.
const stripes = "/stripes"

// Striped is an open dataset over several files.
type Striped struct {
	*Dataset          // the virtual dataset: libhdf5 opens the files for reads and writes through it
	files    []*File  // that contain the pieces
	pieces   []*piece // in the order of the mappings
}

// A piece is one mapping with its source dataset.
type piece struct {
	Mapping
	dataset *Dataset
	file    int
}

// Part is the part of a region that one file contains.
type Part struct {
	File    int      // index of the file: parts of different files may be processed concurrently
	Dataset *Dataset // source dataset in that file
	Source  Region   // region in Dataset
	Region  Region   // region in the striped dataset, with the same shape
}

// CreateStriped makes a dataset whose chunks are distributed over the files of s, which are created
// too. o.Chunks is the shape of a stripe. Filters and all other chunk options of o apply to the
// datasets in those files.
//
// The shape is fixed, because the placement of a growing dataset would have to be known in advance.
// Each chunk requires a mapping in the virtual dataset, about 100 bytes.
//
// It returns ErrParam for invalid options, ErrExists if one of the files or the dataset exists, and
// errors.ErrUnsupported for a file of the drivers Family, Multi and Split. It also returns the
// errors of Create and CreateDataset. After an error the files it created are removed.
func (g *Group) CreateStriped(name string, dt Datatype, space Dataspace, s Striping, o *DatasetOptions) (_ *Striped, err error) {
	const op = "create striped dataset"
	path := g.join(name)
	fail := func(err error) error { return &Error{Op: op, Path: path, Err: err} }
	if err := g.writable(op, path); err != nil {
		return nil, err
	}
	var opts DatasetOptions
	if o != nil {
		opts = *o
	}
	for _, err := range []error{dt.check(), space.check(), opts.Validate(dt, space)} {
		if err != nil {
			return nil, fail(err)
		}
	}
	switch {
	case len(s.Files) == 0 || len(opts.Chunks) == 0:
		return nil, fail(fmt.Errorf("%w: %d files, stripes of shape %d", ErrParam, len(s.Files), opts.Chunks))
	case !slices.Equal(space.maxDims(), space.Dims):
		return nil, fail(fmt.Errorf("%w: a striped shape that may grow", ErrParam))
	case space.NumElems() == 0:
		return nil, fail(fmt.Errorf("%w: no element to place in %v", ErrParam, space))
	}
	if err := g.singleFile(); err != nil {
		return nil, fail(err)
	}
	mappings, counts, err := s.place(space.Dims, opts.Chunks)
	if err != nil {
		return nil, fail(err)
	}
	st := &Striped{}
	var made []string
	defer func() {
		if err == nil {
			return
		}
		_ = st.Close()
		for _, name := range made {
			_ = os.Remove(name)
		}
	}()
	datasets := make([]*Dataset, len(s.Files))
	for i, name := range s.Files {
		location := g.beside(name)
		f, err := Create(location, nil)
		if err != nil {
			return nil, err
		}
		made = append(made, location)
		st.files = append(st.files, f)
		if counts[i] == 0 {
			continue
		}
		shape := slices.Clone(opts.Chunks)
		shape[0] *= counts[i]
		if datasets[i], err = f.Root().CreateDataset(stripes, dt, SimpleSpace(shape...), &opts); err != nil {
			return nil, err
		}
	}
	for i := range mappings {
		p := &mappings[i]
		p.Source.Dims[0] *= counts[p.file]
		p.File, p.Dataset, p.dataset = s.Files[p.file], stripes, datasets[p.file]
		st.pieces = append(st.pieces, p)
	}
	whole := DatasetOptions{
		Fill: opts.Fill, FillValues: opts.FillValues, Access: opts.Access, AttributeOrder: opts.AttributeOrder, AttributePhase: opts.AttributePhase, Times: opts.Times,
		Mappings: make([]Mapping, len(mappings)),
	}
	for i, p := range mappings {
		whole.Mappings[i] = p.Mapping
	}
	st.Dataset, err = g.CreateDataset(name, dt, space, &whole)
	return st, err
}

// singleFile returns errors.ErrUnsupported if the file has several members, because libhdf5 opens
// the sources of a virtual dataset with the driver of its file. It would then find no sources and
// read fill values.
func (g *Group) singleFile() error {
	a, _, _, err := g.file.Access()
	if err != nil {
		return err
	}
	switch a.Driver.(type) {
	case Family, Multi, Split:
		return fmt.Errorf("%w: a virtual dataset in a file of driver %T, which finds no source files", errors.ErrUnsupported, a.Driver)
	}
	return nil
}

// place makes the mappings, in the order of the grid, and counts the chunks of each file.
func (s Striping) place(dims, chunks []int64) ([]piece, []int64, error) {
	grid, total := make([]int64, len(dims)), int64(1)
	for i := range dims {
		grid[i] = ceil.Div(dims[i], chunks[i])
		total *= grid[i]
	}
	if total > maxStripes {
		return nil, nil, fmt.Errorf("%w: %d stripes, %d are the most", ErrSize, total, maxStripes)
	}
	counts := make([]int64, len(s.Files))
	pieces := make([]piece, 0, total)
	at := make([]int64, len(dims))
	for n := range total {
		file := int(n % int64(len(s.Files)))
		if s.Place != nil {
			file = s.Place(slices.Clone(at))
		}
		if file < 0 || file >= len(s.Files) {
			return nil, nil, fmt.Errorf("%w: chunk %d in file %d of %d", ErrParam, at, file, len(s.Files))
		}
		p := piece{file: file}
		for i := range dims {
			start := at[i] * chunks[i]
			p.Region.Start = append(p.Region.Start, start)
			p.Region.Count = append(p.Region.Count, min(chunks[i], dims[i]-start))
		}
		p.Source = SimpleSpace(slices.Clone(chunks)...) // of one chunk, until all are counted
		p.SourceRegion = Region{Start: make([]int64, len(dims)), Count: slices.Clone(p.Region.Count)}
		p.SourceRegion.Start[0] = counts[file] * chunks[0]
		counts[file]++
		pieces = append(pieces, p)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < grid[i] {
				break
			}
			at[i] = 0
		}
	}
	return pieces, counts, nil
}

// maxStripes limits the number of mappings, because libhdf5 processes all of them for each access.
const maxStripes = 1 << 16

// OpenStriped opens a virtual dataset and its source files in the mode of the group's file. Every
// mapping must be a limited region without strides.
//
// It returns ErrKind if the dataset does not have this form, and ErrNotFound if a file is missing.
func (g *Group) OpenStriped(name string) (_ *Striped, err error) {
	const op = "open striped dataset"
	path := g.join(name)
	d, err := g.OpenDataset(name)
	if err != nil {
		return nil, err
	}
	st := &Striped{Dataset: d}
	defer func() {
		if err != nil {
			_ = st.Close()
		}
	}()
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	if len(info.Mappings) == 0 {
		return nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: its layout is %v, not virtual", ErrKind, info.Layout)}
	}
	numbers, datasets := map[string]int{}, map[[2]string]*Dataset{}
	for _, m := range info.Mappings {
		if m.Irregular || !m.Region.plain() || !m.SourceRegion.plain() {
			return nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: a mapping of %q that is no simple region", ErrKind, m.File)}
		}
		n, open := numbers[m.File]
		if !open {
			f, err := Open(g.beside(m.File), g.file.mode)
			if err != nil {
				return nil, err
			}
			n = len(st.files)
			numbers[m.File], st.files = n, append(st.files, f)
		}
		key := [2]string{m.File, m.Dataset}
		if datasets[key] == nil {
			if datasets[key], err = st.files[n].Root().OpenDataset(m.Dataset); err != nil {
				return nil, err
			}
		}
		st.pieces = append(st.pieces, &piece{m, datasets[key], n})
	}
	return st, nil
}

// beside returns the path of name relative to the directory of the group's file, unless name is
// absolute.
func (g *Group) beside(name string) string {
	if name == "." {
		return g.file.path
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(g.file.path), name)
}

// plain reports whether the region is a box: one block of adjacent elements.
func (r Region) plain() bool {
	for i := range r.Start {
		count, stride, block := r.Count[i], int64(1), int64(1)
		if r.Stride != nil {
			stride = r.Stride[i]
		}
		if r.Block != nil {
			block = r.Block[i]
		}
		if count < 0 || block < 0 || count != 1 && block != 1 || count > 1 && stride != 1 {
			return false
		}
	}
	return true
}

// box returns the start and size of a plain region.
func (r Region) box() Region {
	size := slices.Clone(r.Count)
	for i := range size {
		if r.Block != nil {
			size[i] *= r.Block[i]
		}
	}
	return Region{Start: slices.Clone(r.Start), Count: size}
}

// Parts divides a region without strides into its parts in each file. Parts of different files
// share no data, so each file can be read or written by a separate goroutine. Package chunkio is
// faster.
//
// It returns ErrRegion for a region with strides, or outside the dataset.
func (s *Striped) Parts(r Region) ([]Part, error) {
	const op = "divide"
	if _, _, err := r.words(nil); err != nil {
		return nil, &Error{Op: op, Path: s.path, Err: err}
	}
	if !r.plain() {
		return nil, &Error{Op: op, Path: s.path, Err: r.outside("strides cannot be divided")}
	}
	want := r.box()
	var parts []Part
	var found int64
	for _, p := range s.pieces {
		have, source := p.Region.box(), p.SourceRegion.box()
		if len(have.Start) != len(want.Start) {
			return nil, &Error{Op: op, Path: s.path, Err: r.outside(fmt.Sprintf("the dataset has %d dimensions", len(have.Start)))}
		}
		part := Part{File: p.file, Dataset: p.dataset}
		empty := false
		for i := range have.Start {
			from := max(have.Start[i], want.Start[i])
			to := min(have.Start[i]+have.Count[i], want.Start[i]+want.Count[i])
			empty = empty || from >= to
			part.Region.Start, part.Region.Count = append(part.Region.Start, from), append(part.Region.Count, to-from)
			part.Source.Start = append(part.Source.Start, source.Start[i]+from-have.Start[i])
		}
		if empty {
			continue
		}
		part.Source.Count = slices.Clone(part.Region.Count)
		found += part.Region.NumElems()
		parts = append(parts, part)
	}
	if n := want.NumElems(); found != n {
		return nil, &Error{Op: op, Path: s.path, Err: r.outside(fmt.Sprintf("the files hold %d of its %d elements", found, n))}
	}
	return parts, nil
}

// Close closes the dataset and the files of its pieces. It does not close the file that contains
// the dataset.
func (s *Striped) Close() error {
	var errs []error
	if s.Dataset != nil {
		errs = append(errs, s.Dataset.Close())
	}
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
