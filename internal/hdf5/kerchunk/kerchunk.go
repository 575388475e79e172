package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Sentinels.
var (
	// ErrNotZarr means that Zarr or its codecs cannot represent an object. It matches
	// errors.ErrUnsupported.
	ErrNotZarr = errs.New("unsupported operation in Zarr", errors.ErrUnsupported)

	// ErrDiffer means that files cannot be joined, because they have other objects, grids,
	// coordinates or units. It matches ndarray.ErrParam.
	ErrDiffer = errs.New("the files differ", ndarray.ErrParam)
)

// references writes the references of a file.
type references interface {
	// document adds a JSON document, for example .zarray. It may contain NaN and infinities.
	document(key string, document []byte) error
	// begin begins an array. counts is the number of its chunks in each dimension.
	begin(key string, counts []int64) error
	// chunk adds the location of a chunk of the array in the file at url. at counts chunks in each
	// dimension.
	chunk(at []uint64, url string, off, n uint64) error
	// content adds the contents of a chunk of the array.
	content(at []uint64, b []byte) error
	// close writes the rest.
	close() error
}

// Format is the form of references.
type Format string

// Formats of references.
const (
	JSON    Format = "json"    // one file, version 1
	Parquet Format = "parquet" // a directory, of which readers read only some files
)

// Object is a group or an array of the file.
type Object struct {
	Path  string
	Group bool
	Err   error // the array cannot be represented
}

// Source is an open HDF5 file.
type Source struct {
	Name    string      // in messages
	URL     string      // location in the references
	Objects []Object    // in the order in which they are written
	File    *h5.File    // metadata of the datasets
	Bytes   io.ReaderAt // indexes of the chunks
	Size    int64       // of Bytes
	Arrays  func(ctx context.Context, path string) (*ndarray.Array, error)
	Attrs   func(ctx context.Context, path string) (ndarray.Attrs, error) // of a group

	plain *h5file.File
	done  func() error
}

// Sources are the files of a set of references.
type Sources interface {
	// Len returns the number of files.
	Len() int
	// Source returns the open file i. It is valid until the next call.
	Source(ctx context.Context, i int) (*Source, error)
}

// Options are the options of Write.
type Options struct {
	Format  Format
	Combine string                             // the dimension along which several files are joined
	Exclude func(path string) bool             // objects that are left out; nil: no object is
	Skip    func(file, path string, err error) // called for an array that Zarr cannot represent; nil: such an array is an error
}

// Stats counts the contents of references.
type Stats struct {
	Groups, Arrays int
	Chunks         int64 // references to ranges of files
	Embedded       int64 // bytes of elements in the references
}

// Error is an error about one object of a file.
type Error struct {
	File, Path string
	Err        error
}

func (e *Error) Error() string { return e.File + ":" + e.Path + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// writer writes the references of files.
type writer struct {
	Options
	files Sources
	out   references
	stats Stats
}

// Write writes the references of files to the new output name. It examines all objects first. An
// *Error that wraps ErrNotZarr is for an object that Zarr cannot represent; all of them are
// joined.
func Write(ctx context.Context, name string, o Options, files Sources) (stats Stats, err error) {
	if n := files.Len(); n < 1 || o.Combine == "" && n > 1 {
		return Stats{}, fmt.Errorf("%w: %d files without a dimension along which they are joined", ndarray.ErrParam, n)
	}
	w := &writer{Options: o, files: files}
	groups, arrays, err := w.plan(ctx)
	if err != nil {
		return Stats{}, err
	}
	switch o.Format {
	case JSON:
		w.out, err = newJSONReferences(name)
	case Parquet:
		w.out, err = newParquetReferences(name)
	default:
		return Stats{}, fmt.Errorf("kerchunk: format: got %q, want %q or %q", o.Format, JSON, Parquet)
	}
	if err != nil {
		return Stats{}, err
	}
	defer func() { err = errors.Join(err, w.out.close()) }()
	for _, g := range groups {
		if err := w.group(ctx, g); err != nil {
			return w.stats, err
		}
	}
	for _, a := range arrays {
		if err := w.array(ctx, a); err != nil {
			return w.stats, err
		}
	}
	return w.stats, nil
}

// source returns an open file with the reader of its chunk indexes.
func (w *writer) source(ctx context.Context, i int) (*Source, error) {
	s, err := w.files.Source(ctx, i)
	if err == nil && s.plain == nil {
		s.plain, err = h5file.Open(s.Bytes, s.Size, nil)
	}
	return s, err
}

// group writes the metadata of a group of the first file.
func (w *writer) group(ctx context.Context, object string) error {
	s, err := w.source(ctx, 0)
	if err != nil {
		return err
	}
	attrs, err := s.Attrs(ctx, object)
	if err != nil {
		return &Error{s.Name, object, err}
	}
	doc, err := appendAttributes(nil, zattrs(attrs))
	if err != nil {
		return &Error{s.Name, object, err}
	}
	at := strings.TrimPrefix(object, "/")
	w.stats.Groups++
	return errors.Join(w.out.document(path.Join(at, ".zgroup"), []byte(`{"zarr_format":2}`)), w.out.document(path.Join(at, ".zattrs"), doc))
}

// array writes the metadata and the chunks of an array.
func (w *writer) array(ctx context.Context, a *array) error {
	documents, err := a.documents()
	if err != nil {
		return err
	}
	at := strings.TrimPrefix(a.path, "/")
	if err := errors.Join(w.out.document(at+"/.zarray", documents[0]), w.out.document(at+"/.zattrs", documents[1])); err != nil {
		return err
	}
	w.stats.Arrays++
	if err := w.out.begin(at, grid.Of(a.shape, a.chunks).Counts); err != nil {
		return err
	}
	if a.embed {
		return w.embed(ctx, a)
	}
	first := int64(0) // index of the member's first chunk along the joined dimension
	for _, m := range a.members {
		s, err := w.source(ctx, m.file)
		if err == nil && m.layout == h5.Contiguous {
			err = w.pieces(s, a, m, first)
		} else if err == nil {
			err = w.chunks(ctx, s, a, m, first)
		}
		if err != nil {
			return &Error{m.name, m.path, err}
		}
		if a.axis >= 0 {
			first += grid.DivUp(m.shape[a.axis], a.chunks[a.axis])
		}
	}
	return nil
}

// chunks writes the locations of the chunks of a dataset.
func (w *writer) chunks(ctx context.Context, s *Source, a *array, m *member, first int64) error {
	o, err := s.plain.Object(m.object)
	if err != nil {
		return err
	}
	base := uint64(s.plain.UserBlock())
	number := make([]uint64, len(a.shape)) // 0 in the dimensions of a sub-array
	for c, err := range o.Chunks() {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if !m.inside(c.Offset) {
			continue // left after the dataset shrank
		}
		for i, n := range m.chunk {
			number[i] = c.Offset[i] / uint64(n)
		}
		if a.axis >= 0 {
			number[a.axis] += uint64(first)
		}
		w.stats.Chunks++
		if err := w.out.chunk(number, s.URL, base+uint64(c.Addr), c.Size); err != nil {
			return err
		}
	}
	return nil
}

// inside reports whether the chunk with the first element at contains elements of the dataset.
func (m *member) inside(at []uint64) bool {
	for i := range m.chunk {
		if at[i] >= uint64(m.stored[i]) {
			return false
		}
	}
	return true
}

// plan examines all files. The groups are those of the first one.
func (w *writer) plan(ctx context.Context) (groups []string, arrays []*array, err error) {
	var problems []error
	left := make(map[string]bool) // arrays that are left out of all files
	byPath := make(map[string]*array)
	for i := range w.files.Len() {
		s, err := w.source(ctx, i)
		if err != nil {
			return nil, nil, err
		}
		var members []*member
		for _, o := range s.Objects {
			if w.Exclude != nil && excluded(o.Path, w.Exclude) {
				continue
			}
			m, err := w.object(ctx, s, i, o)
			if m != nil {
				members = append(members, m)
			}
			switch {
			case errors.Is(err, ErrNotZarr) && w.Skip != nil:
				if !left[o.Path] {
					w.Skip(s.Name, o.Path, err)
				}
				left[o.Path] = true
			case errors.Is(err, ErrNotZarr):
				problems = append(problems, &Error{s.Name, o.Path, err})
			case err != nil:
				return nil, nil, &Error{s.Name, o.Path, err}
			case m == nil && o.Group && i == 0:
				groups = append(groups, o.Path)
			case m != nil && byPath[o.Path] != nil:
				byPath[o.Path].members = append(byPath[o.Path].members, m)
			case m != nil:
				a := &array{path: o.Path, members: []*member{m}, axis: -1}
				byPath[o.Path] = a
				arrays = append(arrays, a)
			}
		}
		extend(members)
	}
	if len(problems) > 0 {
		return nil, nil, errors.Join(problems...)
	}
	arrays = slices.DeleteFunc(arrays, func(a *array) bool { return left[a.path] })
	arrays, err = w.join(ctx, arrays)
	return groups, arrays, err
}

// object examines an object. The member is nil for a group, and for an array that netCDF created
// for a dimension without a variable.
func (w *writer) object(ctx context.Context, s *Source, file int, o Object) (*member, error) {
	if err := checkName(o.Path); err != nil {
		return nil, err
	}
	switch {
	case o.Group:
		return nil, nil
	case o.Err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotZarr, o.Err)
	}
	m, err := s.member(ctx, o.Path)
	if err != nil || m == nil {
		return nil, err
	}
	m.file, m.name = file, s.Name
	return m, nil
}

// excluded reports whether an object or a group above it is left out.
func excluded(object string, exclude func(string) bool) bool {
	for ; object != "/" && object != "."; object = path.Dir(object) {
		if exclude(object) {
			return true
		}
	}
	return false
}
