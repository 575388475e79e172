//go:build cgo

// Creation, opening and division of striped datasets.

package striped

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// Options assign the chunks of a dataset to files.
type Options struct {
	// Files are created. Relative names are relative to the directory of the file that contains the
	// dataset. They must not contain a percent sign, because libhdf5 expands it.
	Files []string

	// Place returns the index of the file for the chunk at the given grid coordinates. If it is
	// nil, chunks go to the files in turn, in row-major order.
	Place func(chunk []int64) int
}

// source is the path of the dataset in each file.
const source = "/stripes"

// maxStripes limits the number of mappings, because libhdf5 processes all of them for each access.
const maxStripes = 1 << 16

// Dataset is an open dataset over several files.
type Dataset struct {
	*h5.Dataset // the virtual dataset: libhdf5 opens the files for reads and writes through it

	dims, chunks, grid []int64
	files              []*h5.File
	stripes            []stripe // by number of the chunk in row-major order
}

// A stripe is the location of one chunk.
type stripe struct {
	file    int
	row     int64 // first row of the chunk in the dataset of its file
	dataset *h5.Dataset
}

// Part is the part of a region that one file contains. It is inside one chunk.
type Part struct {
	File    int         // index of the file: parts of different files may be processed concurrently
	Dataset *h5.Dataset // source dataset in that file
	Source  h5.Region   // region in Dataset
	Region  h5.Region   // region in the striped dataset, with the same shape
}

// Create makes a dataset in g whose chunks are distributed over the files of s, which are created
// too. o.ChunkShape is the shape of a stripe. Filters and all other chunk options of o apply to the
// datasets in those files. The shape is fixed, because the placement of a growing dataset would
// have to be known in advance.
//
// It returns h5.ErrParam for invalid options, ErrSize for more than 65,536 chunks, ErrExists if one
// of the files or the dataset exists, and errors.ErrUnsupported for a file of the drivers Family,
// Multi and Split. It also returns the errors of h5.Create and CreateDataset. After an error the
// files it created are removed.
func Create(g *h5.Group, name string, dt h5.Datatype, space h5.Dataspace, s Options, o h5.DatasetOptions) (_ *Dataset, err error) {
	defer func() {
		var known *h5.Error
		if err != nil && !errors.As(err, &known) {
			err = &h5.Error{Op: "create striped dataset", Path: name, Err: err}
		}
	}()
	d := &Dataset{dims: space.Dims, chunks: o.ChunkShape}
	if err := checkOptions(space, s, o); err != nil {
		return nil, err
	}
	if err := checkDriver(g.File()); err != nil {
		return nil, err
	}
	counts, err := d.place(s)
	if err != nil {
		return nil, err
	}
	paths := Paths(g.File().Path(), s.Files)
	made := 0
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close(), Remove(paths[:made]))
		}
	}()
	datasets := make([]*h5.Dataset, len(s.Files))
	for i, path := range paths {
		f, err := h5.Create(path, nil)
		if err != nil {
			return nil, err
		}
		made++
		d.files = append(d.files, f)
		if counts[i] == 0 {
			continue
		}
		if datasets[i], err = f.Root().CreateDataset(source, dt, h5.SimpleSpace(d.sourceShape(counts[i])...), &o); err != nil {
			return nil, err
		}
	}
	whole := h5.DatasetOptions{
		Fill: o.Fill, FillValues: o.FillValues, Access: o.Access, AttributeOrder: o.AttributeOrder, AttributePhase: o.AttributePhase, Times: o.Times,
		Mappings: make([]h5.Mapping, len(d.stripes)),
	}
	for i := range d.stripes {
		file := d.stripes[i].file
		d.stripes[i].dataset = datasets[file]
		box := d.box(int64(i))
		whole.Mappings[i] = h5.Mapping{
			Region: box, File: s.Files[file], Dataset: source,
			Source: h5.SimpleSpace(d.sourceShape(counts[file])...), SourceRegion: d.stripes[i].region(box),
		}
	}
	d.Dataset, err = g.CreateDataset(name, dt, space, &whole)
	return d, err
}

func checkOptions(space h5.Dataspace, s Options, o h5.DatasetOptions) error {
	switch {
	case len(s.Files) == 0:
		return fmt.Errorf("%w: a striped dataset without files", h5.ErrParam)
	case len(o.ChunkShape) == 0 || len(o.ChunkShape) != len(space.Dims) || slices.Min(o.ChunkShape) < 1:
		return fmt.Errorf("%w: stripes of shape %d for a dataset of shape %d", h5.ErrParam, o.ChunkShape, space.Dims)
	case space.MaxDims != nil && !slices.Equal(space.MaxDims, space.Dims):
		return fmt.Errorf("%w: striped dataset with the maximum shape %d: got a shape that can grow from %d", h5.ErrParam, space.MaxDims, space.Dims)
	case space.NumElems() <= 0:
		return fmt.Errorf("%w: striped dataset without elements: shape %d", h5.ErrParam, space.Dims)
	}
	for _, name := range s.Files {
		if name == "" || strings.Contains(name, "%") {
			return fmt.Errorf("%w: stripe file %q: want a name without a percent sign", h5.ErrParam, name)
		}
	}
	return nil
}

// checkDriver returns errors.ErrUnsupported if the file has several members, because libhdf5 opens
// the sources of a virtual dataset with the driver of its file. It would then find no sources and
// read fill values.
func checkDriver(f *h5.File) error {
	a, _, _, err := f.Access()
	if err != nil {
		return err
	}
	switch a.Driver.(type) {
	case h5.Family, h5.Multi, h5.Split:
		return fmt.Errorf("%w: a striped dataset in a file of driver %T, which cannot open stripe files", errors.ErrUnsupported, a.Driver)
	}
	return nil
}

// Paths returns the paths of the files with those names. Relative names are relative to the
// directory of file, which contains the striped dataset.
func Paths(file string, names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		if paths[i] = name; !filepath.IsAbs(name) {
			paths[i] = filepath.Join(filepath.Dir(file), name)
		}
	}
	return paths
}

// Remove deletes the files of a striped dataset that is discarded.
func Remove(paths []string) error {
	var errs []error
	for _, path := range paths {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// place sets the grid, and the file and row of each chunk. It returns the number of chunks in each
// file.
func (d *Dataset) place(s Options) ([]int64, error) {
	total, err := d.setGrid()
	if err != nil {
		return nil, err
	}
	counts := make([]int64, len(s.Files))
	d.stripes = make([]stripe, total)
	for n := range total {
		file := int(n % int64(len(s.Files)))
		if s.Place != nil {
			file = s.Place(d.coordinates(n))
		}
		if file < 0 || file >= len(s.Files) {
			return nil, fmt.Errorf("%w: file of chunk %d: got %d, want 0 to %d", h5.ErrParam, d.coordinates(n), file, len(s.Files)-1)
		}
		d.stripes[n] = stripe{file: file, row: counts[file] * d.chunks[0]}
		counts[file]++
	}
	return counts, nil
}

// setGrid sets the number of chunks in each dimension and returns the number of all chunks.
func (d *Dataset) setGrid() (int64, error) {
	d.grid = make([]int64, len(d.dims))
	total := int64(1)
	for i := range d.dims {
		if d.grid[i] = grid.DivUp(d.dims[i], d.chunks[i]); d.grid[i] > maxStripes {
			total = maxStripes + 1
			break
		}
		if total *= d.grid[i]; total > maxStripes {
			break
		}
	}
	if total > maxStripes {
		return 0, fmt.Errorf("%w: stripes of shape %d in a dataset of shape %d: got more than %d", h5.ErrSize, d.chunks, d.dims, maxStripes)
	}
	return total, nil
}

// coordinates returns the grid coordinates of chunk n.
func (d *Dataset) coordinates(n int64) []int64 {
	at := make([]int64, len(d.grid))
	for i := len(at) - 1; i >= 0; i-- {
		at[i], n = n%d.grid[i], n/d.grid[i]
	}
	return at
}

// box returns the region of chunk n, clipped to the shape.
func (d *Dataset) box(n int64) h5.Region {
	r := h5.Region{Start: d.coordinates(n), Count: make([]int64, len(d.dims))}
	for i := range r.Start {
		r.Start[i] *= d.chunks[i]
		r.Count[i] = min(d.chunks[i], d.dims[i]-r.Start[i])
	}
	return r
}

// sourceShape returns the shape of a dataset with n chunks.
func (d *Dataset) sourceShape(n int64) []int64 {
	shape := slices.Clone(d.chunks)
	shape[0] *= n
	return shape
}

// region returns the region of a chunk of that shape in the dataset of its file.
func (s *stripe) region(chunk h5.Region) h5.Region {
	r := h5.Region{Start: make([]int64, len(chunk.Count)), Count: slices.Clone(chunk.Count)}
	r.Start[0] = s.row
	return r
}

// Open opens the source files of a virtual dataset that has the form of a striped dataset, in the
// mode of its file. It takes ownership of the dataset: Close of the result closes d. If Open
// returns an error, d stays open.
//
// It returns h5.ErrKind if the dataset does not have this form, and ErrNotFound if a file is
// missing.
func Open(d *h5.Dataset) (_ *Dataset, err error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	st := &Dataset{dims: info.Space.Dims}
	files, err := st.read(&info)
	if err != nil {
		return nil, &h5.Error{Op: "open striped dataset", Path: d.Path(), Err: err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.Close())
		}
	}()
	datasets := make([]*h5.Dataset, len(files))
	for i, path := range Paths(d.File().Path(), files) {
		f, err := h5.Open(path, d.File().Mode())
		if err != nil {
			return nil, err
		}
		st.files = append(st.files, f)
		if datasets[i], err = f.Root().OpenDataset(source); err != nil {
			return nil, err
		}
		t, err := datasets[i].Datatype()
		if err != nil {
			return nil, err
		}
		if !t.Equal(info.Datatype) {
			return nil, &h5.Error{Op: "open striped dataset", Path: d.Path(), Err: fmt.Errorf("%w: elements of %q: got %v, want %v", h5.ErrKind, path, t, info.Datatype)}
		}
	}
	for i := range st.stripes {
		st.stripes[i].dataset = datasets[st.stripes[i].file]
	}
	st.Dataset = d
	return st, nil
}

// read converts the mappings of a virtual dataset to stripes. It returns the names of the files.
func (d *Dataset) read(info *h5.DatasetInfo) ([]string, error) {
	other := func(format string, args ...any) error {
		return fmt.Errorf("%w: not a striped dataset: "+format, append([]any{h5.ErrKind}, args...)...)
	}
	if info.Layout != h5.Virtual || len(info.Mappings) == 0 {
		return nil, other("layout %v with %d mappings", info.Layout, len(info.Mappings))
	}
	first := info.Mappings[0]
	if first.Irregular || !plain(first.Region) || len(first.Region.Count) != len(d.dims) || first.Region.NumElems() < 1 {
		return nil, other("the first mapping is not one block")
	}
	d.chunks = box(first.Region).Count
	if total, err := d.setGrid(); err != nil || total != int64(len(info.Mappings)) {
		return nil, other("%d mappings of blocks of %d in the shape %d", len(info.Mappings), d.chunks, d.dims)
	}
	d.stripes = make([]stripe, len(info.Mappings))
	var files []string
	for n, m := range info.Mappings {
		if m.Irregular || !plain(m.Region) || !plain(m.SourceRegion) || m.Dataset != source || m.File == "." || strings.Contains(m.File, "%") {
			return nil, other("mapping %d of %q", n, m.File)
		}
		file := slices.Index(files, m.File)
		if file < 0 {
			file, files = len(files), append(files, m.File)
		}
		want, from := d.box(int64(n)), box(m.SourceRegion)
		have := box(m.Region)
		if !slices.Equal(have.Start, want.Start) || !slices.Equal(have.Count, want.Count) || !slices.Equal(from.Count, want.Count) {
			return nil, other("mapping %d: got the region %v, want %v", n, have, want)
		}
		d.stripes[n] = stripe{file: file, row: from.Start[0]}
		if s := d.stripes[n].region(want); !slices.Equal(from.Start, s.Start) {
			return nil, other("mapping %d: source region %v", n, from)
		}
	}
	return files, nil
}

// plain reports whether the region is a box: one block of adjacent elements.
func plain(r h5.Region) bool {
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
func box(r h5.Region) h5.Region {
	size := slices.Clone(r.Count)
	for i := range size {
		if r.Block != nil {
			size[i] *= r.Block[i]
		}
	}
	return h5.Region{Start: r.Start, Count: size}
}

// Chunks returns the shape of a stripe.
func (d *Dataset) Chunks() []int64 { return d.chunks }

// Parts divides a region without strides into its parts in each chunk, in row-major order of the
// chunks. Parts of different files share no data, so each file can be read or written by a separate
// goroutine.
//
// It returns h5.ErrRegion for a region with strides, or outside the dataset.
func (d *Dataset) Parts(r h5.Region) ([]Part, error) {
	if r.Stride != nil || r.Block != nil || len(r.Start) != len(d.dims) || len(r.Count) != len(d.dims) {
		return nil, d.outside(r)
	}
	first, last := make([]int64, len(d.dims)), make([]int64, len(d.dims))
	for i := range r.Start {
		if r.Start[i] < 0 || r.Count[i] < 0 || r.Start[i] > d.dims[i]-r.Count[i] {
			return nil, d.outside(r)
		}
		first[i], last[i] = r.Start[i]/d.chunks[i], (r.Start[i]+r.Count[i]-1)/d.chunks[i]
	}
	if r.NumElems() == 0 {
		return nil, nil
	}
	var parts []Part
	for at := slices.Clone(first); ; {
		parts = append(parts, d.part(at, r))
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] <= last[i] {
				break
			}
			at[i] = first[i]
		}
		if i < 0 {
			return parts, nil
		}
	}
}

func (d *Dataset) outside(r h5.Region) error {
	return &h5.Error{Op: "divide", Path: d.Path(), Err: fmt.Errorf("%w: region %+v of a dataset of shape %d", h5.ErrRegion, r, d.dims)}
}

// part returns the part of r in the chunk at those grid coordinates.
func (d *Dataset) part(at []int64, r h5.Region) Part {
	n := int64(0)
	for i, x := range at {
		n = n*d.grid[i] + x
	}
	chunk, s := d.box(n), &d.stripes[n]
	p := Part{File: s.file, Dataset: s.dataset, Source: s.region(chunk)}
	for i := range at {
		from := max(chunk.Start[i], r.Start[i])
		to := min(chunk.Start[i]+chunk.Count[i], r.Start[i]+r.Count[i])
		p.Region.Start, p.Region.Count = append(p.Region.Start, from), append(p.Region.Count, to-from)
		p.Source.Start[i] += from - chunk.Start[i]
	}
	p.Source.Count = slices.Clone(p.Region.Count)
	return p
}

// Close closes the dataset and the files of its stripes. It does not close the file that contains
// the dataset.
func (d *Dataset) Close() error {
	var errs []error
	if d.Dataset != nil {
		errs = append(errs, d.Dataset.Close())
	}
	for _, f := range d.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
