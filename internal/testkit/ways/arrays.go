// Ways of the Go API: how an array is opened, and how its elements are read.

package ways

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// opener opens arrays in one way.
type opener struct {
	name string
	// start returns the function that opens the arrays of a file.
	start   func(ctx context.Context, f *File) (open func(ctx context.Context, a *Array) (*ndarray.Array, error), stop func() error, err error)
	tree    bool
	formats []string
	// complete is set if all methods read the arrays. Otherwise some do, because the methods call
	// the same backend as with another opener; few if opening takes time.
	complete, few bool
}

// alone opens each array by its location.
func alone(name string, o hyperslab.OpenOptions, formats ...string) opener {
	return opener{name: name, formats: formats, few: o.Untrusted != nil && !o.Untrusted.InProcess, start: func(context.Context, *File) (func(context.Context, *Array) (*ndarray.Array, error), func() error, error) {
		return func(ctx context.Context, a *Array) (*ndarray.Array, error) {
			return hyperslab.Open(ctx, a.Location(), &o)
		}, nil, nil
	}}
}

// forWriting opens the arrays of a copy of each file for writing, because this can change the file.
func forWriting() opener {
	return opener{name: "Open+Write", formats: []string{"hdf5", "b2nd", "caterva", "bcolz", "ctable"}, start: func(_ context.Context, f *File) (func(context.Context, *Array) (*ndarray.Array, error), func() error, error) {
		dir, err := os.MkdirTemp(f.set.Dir, "copy")
		if err != nil {
			return nil, nil, err
		}
		stop := func() error { return os.RemoveAll(dir) }
		to := filepath.Join(dir, filepath.Base(f.Name))
		if err := f.copyTo(to); err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		return func(ctx context.Context, a *Array) (*ndarray.Array, error) {
			return hyperslab.Open(ctx, to+strings.TrimPrefix(a.Location(), f.Path()), &hyperslab.OpenOptions{Write: true})
		}, stop, nil
	}}
}

// withChecksums opens copies of b2nd arrays with a checksum of each chunk, which reads compare.
func withChecksums() opener {
	return opener{name: "Open+Checksums", formats: []string{"b2nd"}, start: func(ctx context.Context, f *File) (func(context.Context, *Array) (*ndarray.Array, error), func() error, error) {
		dir, err := os.MkdirTemp("", "sums") // not beside files of others
		if err != nil {
			return nil, nil, err
		}
		to := filepath.Join(dir, "a.b2nd")
		return func(ctx context.Context, a *Array) (*ndarray.Array, error) {
			if err := a.copySummed(ctx, to); err != nil {
				return nil, err
			}
			return hyperslab.Open(ctx, to, &hyperslab.OpenOptions{Checksums: true})
		}, func() error { return os.RemoveAll(dir) }, nil
	}}
}

// checksumFilter is the name of the checksums in Compression.
const checksumFilter = "crc32c"

// copySummed copies a b2nd array, with a checksum of each chunk. Its pipeline is that of the array
// if it can be written.
func (a *Array) copySummed(ctx context.Context, to string) (err error) {
	x, err := hyperslab.Open(ctx, a.Location(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	spec := x.Meta().Spec()
	if spec.Compression.Filters = append(spec.Compression.Filters, checksumFilter); b2nd.Check(spec) != nil { // it is only read
		spec.Compression = &ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"shuffle", checksumFilter}}
	}
	d, err := hyperslab.Create(ctx, to, spec, &hyperslab.CreateOptions{Overwrite: true, Sparse: sparse(a)})
	if err != nil {
		return err
	}
	if _, err = ndarray.Copy(ctx, d.Array, x, nil); err == nil {
		err = d.Commit(ctx)
	}
	return errors.Join(err, d.Close())
}

// copyTo copies the file or directory, and the sources of virtual datasets beside it.
func (f *File) copyTo(to string) error {
	if info, err := os.Stat(f.Path()); err != nil || info.IsDir() {
		return errors.Join(err, os.CopyFS(to, os.DirFS(f.Path())))
	}
	for from, to := range map[string]string{f.Path(): to, f.source(f.Path()): f.source(to)} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && from != f.Path()) {
			return err
		}
	}
	return nil
}

// source returns the name of the file with the sources of virtual datasets of an HDF5 file.
func (f *File) source(path string) string { return strings.TrimSuffix(path, ".h5") + "-source.h5" }

// inTree opens the arrays of an open tree.
func inTree(name string, u *hyperslab.Untrusted, formats ...string) opener {
	return opener{name: name, tree: true, formats: formats, start: func(ctx context.Context, f *File) (func(context.Context, *Array) (*ndarray.Array, error), func() error, error) {
		tree, err := hyperslab.OpenTree(ctx, f.Path(), &hyperslab.OpenOptions{Untrusted: u})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, a *Array) (*ndarray.Array, error) { return tree.Open(ctx, a.Path) }, tree.Close, nil
	}}
}

// readerAt opens frames and HDF5 files that an io.ReaderAt reads.
func readerAt(name string, u *hyperslab.Untrusted, file bool) opener {
	return opener{name: name, few: !u.InProcess, formats: []string{"hdf5", "b2nd", "frame"}, start: func(_ context.Context, f *File) (func(context.Context, *Array) (*ndarray.Array, error), func() error, error) {
		return func(ctx context.Context, a *Array) (*ndarray.Array, error) {
			info, err := os.Stat(f.Path())
			if err == nil && info.IsDir() {
				return nil, fmt.Errorf("a directory: %w", errors.ErrUnsupported)
			}
			object := a.Path
			if f.Format != "hdf5" {
				object = ""
			}
			o := &hyperslab.OpenOptions{Untrusted: u}
			if file {
				r, err := os.Open(f.Path())
				if err != nil {
					return nil, err
				}
				defer func() { _ = r.Close() }()
				return hyperslab.OpenReaderAt(ctx, r, info.Size(), f.Name, object, o)
			}
			b, err := os.ReadFile(f.Path())
			if err != nil {
				return nil, err
			}
			return hyperslab.OpenReaderAt(ctx, bytes.NewReader(b), int64(len(b)), f.Name, object, o)
		}, nil, nil
	}}
}

// overBytes opens the arrays of trees over the bytes of a file: without fsys in an io.ReaderAt, and
// otherwise in the file system of its directory.
func overBytes(name string, u *hyperslab.Untrusted, fsys func(dir string) (fs.FS, error)) opener {
	return opener{name: name, tree: true, few: u != nil && !u.InProcess, start: func(ctx context.Context, f *File) (func(context.Context, *Array) (*ndarray.Array, error), func() error, error) {
		tree, err := f.openBytes(ctx, &hyperslab.OpenOptions{Untrusted: u}, fsys)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, a *Array) (*ndarray.Array, error) { return tree.Open(ctx, a.Path) }, tree.Close, nil
	}}
}

func (f *File) openBytes(ctx context.Context, o *hyperslab.OpenOptions, fsys func(dir string) (fs.FS, error)) (*hyperslab.Tree, error) {
	if fsys != nil {
		files, err := fsys(f.Path())
		if err != nil {
			return nil, err
		}
		return hyperslab.OpenTreeFS(ctx, files, filepath.Base(f.Path()), o)
	}
	if info, err := os.Stat(f.Path()); err == nil && info.IsDir() {
		return nil, fmt.Errorf("a directory: %w", errors.ErrUnsupported)
	}
	b, err := os.ReadFile(f.Path())
	if err != nil {
		return nil, err
	}
	return hyperslab.OpenTreeReaderAt(ctx, bytes.NewReader(b), int64(len(b)), f.Name, o)
}

// directoryOf returns the file system of the directory of a file.
func directoryOf(path string) (fs.FS, error) { return os.DirFS(filepath.Dir(path)), nil }

// archiveOf returns a ZIP archive with a file or a directory. Its files are no io.ReaderAt.
func archiveOf(path string) (fs.FS, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(path), file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		to, err := w.Create(filepath.ToSlash(name))
		if err == nil {
			_, err = to.Write(content)
		}
		return err
	})
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
}

// permissive allows the features of the set that untrusted files may not use by default.
func permissive(u hyperslab.Untrusted) *hyperslab.Untrusted {
	u.HDF5Filters = []int{5, 6}
	return &u
}

var groups = []string{"hdf5", "ctable", "b2z", "b2d", "b2e", "table"}

// openers returns the ways to open an array of a local file.
func openers() []opener {
	inProcess, worker := permissive(hyperslab.Untrusted{InProcess: true}), permissive(hyperslab.Untrusted{})
	open, tree := alone("Open", hyperslab.OpenOptions{}), inTree("Tree", nil, groups...)
	untrusted := alone("Open+untrusted", hyperslab.OpenOptions{Untrusted: inProcess})
	open.complete, tree.complete, untrusted.complete = true, true, true
	return []opener{
		open,
		alone("Open+Library", hyperslab.OpenOptions{Library: true}, "hdf5", "b2nd", "caterva", "frame"),
		forWriting(),
		withChecksums(),
		untrusted,
		alone("Open+worker", hyperslab.OpenOptions{Untrusted: worker}),
		tree,
		inTree("Tree+untrusted", inProcess, groups...),
		inTree("Tree+worker", worker, groups...),
		readerAt("ReaderAt+untrusted", inProcess, false),
		readerAt("ReaderAt+file", inProcess, true),
		readerAt("ReaderAt+worker", worker, false),
		overBytes("TreeReaderAt", nil, nil),
		overBytes("TreeReaderAt+untrusted", inProcess, nil),
		overBytes("TreeReaderAt+worker", worker, nil),
		overBytes("TreeFS", nil, archiveOf),
		overBytes("TreeFS+untrusted", inProcess, archiveOf),
		overBytes("TreeFS+worker", worker, archiveOf),
		overBytes("TreeFS+directory", nil, directoryOf),
	}
}

// method reads elements of an open array in one way.
type method struct {
	name  string
	read  func(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) error
	whole bool
	text  bool
}

var methods = []method{
	{"Read", readRegion, false, false},
	{"Read of 1 worker", withWorkers(1), false, false},
	{"Read of 2 workers", withWorkers(2), false, false},
	{"ReadAs", readAs, false, false},
	{"Records and Rows", iterate, false, false},
	{"Take of a span", take(spans), false, false},
	{"Take with steps", take(steps), false, false},
	{"Take of lists", take(lists), false, false},
	{"Take of masks", take(masks), false, false},
	{"View", view, false, false},
	{"Each", each, true, false},
	{"Map", mapped, true, false},
	{"Copy", copied, true, false},
	{"Encode as JSON", encoded(hyperslab.JSON, fillJSON), false, true},
	{"Encode as NDJSON", encoded(hyperslab.NDJSON, FillLines), false, true},
	{"Encode as CSV", encoded(hyperslab.CSV, FillCSV), false, true},
	{"Encode as NPY", encoded(hyperslab.NPY, fillNPY), false, false},
}

// Arrays returns the ways of the Go API.
func Arrays() (out []Way) {
	for _, o := range openers() {
		out = append(out, o.ways()...)
	}
	return out
}

// ways returns the ways to read arrays that o opens.
func (o opener) ways() (out []Way) {
	for _, m := range methods {
		if !o.complete && m.name != "Read" && m.name != "Take of lists" && (o.few || m.name != "Copy") {
			continue
		}
		out = append(out, Way{Name: o.name + ", " + m.name, Slow: o.few || m.name != "Read" && o.name != "Open", Whole: m.whole, Text: m.text, After: o.tree, Formats: o.formats, Start: func(ctx context.Context, f *File) (Read, func() error, error) {
			open, stop, err := o.start(ctx, f)
			if err != nil {
				return nil, nil, err
			}
			c := &current{open: open}
			return func(ctx context.Context, a *Array, r ndarray.Region, dst []byte) error {
					x, err := c.array(ctx, a)
					if err != nil {
						return err
					}
					return m.read(ctx, x, a, r, dst)
				}, func() error {
					err := c.close()
					if stop != nil {
						err = errors.Join(err, stop())
					}
					return err
				}, nil
		}})
	}
	return out
}

// current is the array that is open. It stays open for all of its regions.
type current struct {
	open   func(ctx context.Context, a *Array) (*ndarray.Array, error)
	of     *Array
	opened *ndarray.Array
}

func (c *current) close() error {
	if c.opened == nil {
		return nil
	}
	x := c.opened
	c.of, c.opened = nil, nil
	return x.Close()
}

func (c *current) array(ctx context.Context, a *Array) (*ndarray.Array, error) {
	if c.of == a {
		return c.opened, nil
	}
	if err := c.close(); err != nil {
		return nil, err
	}
	x, err := c.open(ctx, a)
	if err != nil {
		return nil, err
	}
	c.of, c.opened = a, x
	if !slices.Equal(x.Shape(), a.Shape) {
		return nil, fmt.Errorf("shape: got %v, want %v", x.Shape(), a.Shape)
	}
	if size := x.DType().Size; size != a.Size && !(size == 0 && a.Cells()) {
		return nil, fmt.Errorf("dtype: got %v, want %s", x.DType(), a.DType)
	}
	return x, nil
}

func readRegion(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) error {
	if !a.Cells() {
		return x.Read(ctx, dst, r)
	}
	texts := make([]string, r.NumElems())
	for i := range texts {
		texts[i] = "\xAA"
	}
	if err := x.ReadStrings(ctx, texts, r); err != nil {
		return err
	}
	return fillCells(dst, x.DType(), texts)
}

// fillCells stores elements of variable size in cells.
func fillCells(dst []byte, d ndarray.DType, texts []string) error {
	for i, text := range texts {
		content := []byte(text)
		if d.Kind == ndarray.VLen {
			parts, err := d.Split(content)
			if err != nil {
				return err
			}
			content = bytes.Join(parts, nil)
		}
		cell := dst[i*Cell : (i+1)*Cell]
		clear(cell)
		binary.LittleEndian.PutUint16(cell, uint16(len(content)))
		copy(cell[2:], content)
	}
	return nil
}

func withWorkers(n int) func(context.Context, *ndarray.Array, *Array, ndarray.Region, []byte) error {
	return func(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) error {
		x.SetWorkers(n)
		return readRegion(ctx, x, a, r, dst)
	}
}

// readAs reads numbers as a larger type, or as themselves, and converts them back.
func readAs(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) error {
	n := r.NumElems()
	switch d := x.DType(); {
	case d.Tag != "":
		return readRegion(ctx, x, a, r, dst)
	case d.Kind == ndarray.Int && d.Size < 8:
		return readWider[int64](ctx, x, d, n, r, dst)
	case d.Kind == ndarray.Uint && d.Size < 8:
		return readWider[uint64](ctx, x, d, n, r, dst)
	case d.Kind == ndarray.Int:
		return readInto(ctx, x, make([]int64, n), r, dst)
	case d.Kind == ndarray.Uint:
		return readInto(ctx, x, make([]uint64, n), r, dst)
	case d.Kind == ndarray.Float && d.Size == 8:
		return readInto(ctx, x, make([]float64, n), r, dst)
	case d.Kind == ndarray.Float && d.Size == 4:
		return readInto(ctx, x, make([]float32, n), r, dst)
	case d.Kind == ndarray.Bool:
		return readInto(ctx, x, make([]bool, n), r, dst)
	}
	return readRegion(ctx, x, a, r, dst)
}

func readInto[T ndarray.Element](ctx context.Context, x *ndarray.Array, into []T, r ndarray.Region, dst []byte) error {
	if err := ndarray.ReadAs(ctx, x, into, r); err != nil {
		return err
	}
	_, err := binary.Encode(dst, binary.NativeEndian, into)
	return err
}

func readWider[T ndarray.Element](ctx context.Context, x *ndarray.Array, d ndarray.DType, n int64, r ndarray.Region, dst []byte) error {
	wide := make([]byte, n*8)
	if err := readInto(ctx, x, make([]T, n), r, wide); err != nil {
		return err
	}
	return ndarray.Convert(dst, d.Native(), wide, ndarray.DTypeOf[T](), false)
}

// take reads the elements of a region as a selection. choose returns the index of one dimension.
func take(choose func(start, n, length int64) ndarray.Index) func(context.Context, *ndarray.Array, *Array, ndarray.Region, []byte) error {
	return func(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) error {
		if a.Cells() {
			return readRegion(ctx, x, a, r, dst)
		}
		s, turned := selection(r, a.Shape, choose)
		if err := x.Take(ctx, dst, s); err != nil {
			return err
		}
		if turned {
			turn(dst, a.Size)
		}
		return nil
	}
}

// selection selects the elements of a region. It reports whether the order of all of them is
// reversed.
func selection(r ndarray.Region, shape []int64, choose func(start, n, length int64) ndarray.Index) (s ndarray.Selection, reversed bool) {
	var indexes []ndarray.Index
	for i := range shape {
		indexes = append(indexes, choose(r.Start[i], r.Shape[i], shape[i]))
	}
	probe := choose(0, 2, 2)
	one, err := ndarray.Select(probe).Shape([]int64{2})
	reversed = err == nil && len(one) == 1 && fmt.Sprint(probe) == fmt.Sprint(steps(0, 2, 2))
	return ndarray.Select(indexes...), reversed
}

func spans(start, n, _ int64) ndarray.Index { return ndarray.Span(start, start+n) }

// steps selects from the last to the first index.
func steps(start, n, length int64) ndarray.Index {
	if n == 0 {
		return ndarray.Span(start, start)
	}
	last := ndarray.From(start + n - 1)
	if start > 0 {
		last = last.To(start - 1)
	}
	return last.By(-1)
}

func turn(b []byte, size int) {
	for i, j := 0, len(b)/size-1; i < j; i, j = i+1, j-1 {
		x, y := b[i*size:(i+1)*size], b[j*size:(j+1)*size]
		for k := range x {
			x[k], y[k] = y[k], x[k]
		}
	}
}

func lists(start, n, _ int64) ndarray.Index {
	indexes := make([]int64, n)
	for i := range indexes {
		indexes[i] = start + int64(i)
	}
	return ndarray.List(indexes...)
}

func masks(start, n, length int64) ndarray.Index {
	mask := make([]bool, length)
	for i := range n {
		mask[start+i] = true
	}
	return ndarray.Mask(mask...)
}

func view(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) (err error) {
	s, _ := selection(r, a.Shape, spans)
	v, err := ndarray.View(x, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return readRegion(ctx, v, a, ndarray.Whole(v.Shape()), dst)
}

// each joins the units of Each.
func each(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) error {
	if a.Cells() {
		return readRegion(ctx, x, a, r, dst)
	}
	var mu sync.Mutex
	return ndarray.Each(ctx, x, &ndarray.WorkOptions{Workers: 2}, func(_ context.Context, unit ndarray.Region, b []byte) error {
		mu.Lock()
		defer mu.Unlock()
		a.place(dst, unit, b)
		return nil
	})
}

// place stores the elements of a region in dst, which is for all elements.
func (a *Array) place(dst []byte, unit ndarray.Region, b []byte) {
	at := 0
	a.visit(unit, func(element int64) {
		copy(dst[element*int64(a.Size):(element+1)*int64(a.Size)], b[at:])
		at += a.Size
	})
}

// inMemory returns an array in memory whose elements have old content.
func inMemory(x *ndarray.Array) (*ndarray.Array, error) {
	spec := ndarray.Spec{Shape: x.Shape(), DType: x.DType()}
	b, err := mem.New(spec)
	if err != nil {
		return nil, err
	}
	return ndarray.New(b)
}

func mapped(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) error {
	if a.Cells() {
		return readRegion(ctx, x, a, r, dst)
	}
	to, err := inMemory(x)
	if err != nil {
		return err
	}
	err = ndarray.Map(ctx, to, x, &ndarray.WorkOptions{Workers: 2}, func(_ context.Context, _ ndarray.Region, out, in []byte) error {
		copy(out, in)
		return nil
	})
	return errors.Join(err, to.Read(ctx, dst, r), to.Close())
}

func copied(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) error {
	to, err := inMemory(x)
	if err != nil {
		return err
	}
	_, err = ndarray.Copy(ctx, to, x, nil)
	return errors.Join(err, readRegion(ctx, to, a, r, dst), to.Close())
}

// Selection returns a region in the notation of selections.
func Selection(r ndarray.Region) string {
	out := "["
	for i := range r.Start {
		if i > 0 {
			out += ", "
		}
		out += strconv.FormatInt(r.Start[i], 10) + ":" + strconv.FormatInt(r.Start[i]+r.Shape[i], 10)
	}
	return out + "]"
}
