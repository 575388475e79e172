// Helpers of the drivers: entries of arrays, and arrays that close a file.

package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Root returns a path in the form "/a/b", and "/" for the whole file.
func Root(path string) string { return "/" + strings.Trim(path, "/") }

// IsRoot reports whether a path is that of the whole file.
func IsRoot(path string) bool { return strings.Trim(path, "/") == "" }

// CheckOne returns an error if a path leads into a file that contains one array.
func CheckOne(format, path string) error {
	if IsRoot(path) {
		return nil
	}
	return fmt.Errorf("%w: a file of format %s contains one array, it has no %s", ndarray.ErrParam, format, path)
}

// CheckNamed returns an error for the path of the root of a file or directory with many arrays.
// what is its kind with a verb, and name its name.
func CheckNamed(what, name, path string) error {
	if !IsRoot(path) {
		return nil
	}
	return fmt.Errorf("%w: %s many arrays, name one as %s:/path", ndarray.ErrParam, what, name)
}

// NoGroups returns the error for the attributes of a group in a file that contains one array.
func NoGroups(format string) error {
	return fmt.Errorf("%w: a file of format %s is one array and has no groups", ndarray.ErrParam, format)
}

// ReadOnlyGroup returns the error of a change of the attributes of a group.
func ReadOnlyGroup(format string) error {
	return fmt.Errorf("%w: attributes of a group of format %s are read, not written", errors.ErrUnsupported, format)
}

// CheckTyped returns an error for options that only Blosc2 frames have.
func CheckTyped(format string, o *ArrayOptions) error {
	switch {
	case o.Durable:
		return fmt.Errorf("%w: durable changes in place of an array of format %s", errors.ErrUnsupported, format)
	case o.DType != nil:
		return fmt.Errorf("%w: an array of format %s stores its dtype, which cannot be set", ndarray.ErrParam, format)
	}
	return nil
}

// Visitor returns visit with the work that is common to all drivers: it ends the walk with the
// context, and marks stored sizes as not measured if o demands it.
func Visitor(ctx context.Context, o *WalkOptions, visit Visit) Visit {
	return func(e Entry) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if o != nil && o.NoSizes && e.Kind == Array {
			e.Storage.StoredBytes = -1
		}
		return visit(e)
	}
}

// Leaf visits an entry without members.
func (v Visit) Leaf(e Entry) error {
	_, err := v(e)
	return err
}

// Describe returns the Entry of an array, and closes the array.
func Describe(ctx context.Context, at string, b ndarray.Backend) (e Entry, err error) {
	defer func() { err = errors.Join(err, b.Close()) }()
	e = Entry{Path: at, Kind: Array, Meta: b.Meta(), Type: b.Meta().DType.String()}
	if e.Storage, err = StorageOf(ctx, b); err != nil {
		return e, err
	}
	attrs, err := AttrsOf(ctx, b)
	e.Attrs = len(attrs.List) + len(attrs.Unsupported)
	return e, err
}

// DescribeFrame is Describe for an array of a frame that was opened for its metadata. The entry has
// an error if the elements cannot be read. name is that of the array in this error.
func DescribeFrame(ctx context.Context, name, at string, b ndarray.Backend) (Entry, error) {
	stored := StoredDType(b)
	var reason error
	if r, ok := ndarray.As[ndarray.MetadataReader](b); ok {
		reason = r.Unreadable()
	}
	e, err := Describe(ctx, at, b)
	if err != nil {
		return e, err
	}
	if stored != "" { // Caterva stores no element type; its elements are opaque
		if _, err := ndarray.ParseDType(stored); err != nil {
			e.Meta.DType, e.Type, reason = ndarray.DType{}, stored, err
		}
	}
	e.Err = ndarray.Wrap("open", name, reason)
	return e, nil
}

// AttrsOf reads the attributes of a backend.
func AttrsOf(ctx context.Context, b ndarray.Backend) (ndarray.Attrs, error) {
	r, ok := ndarray.As[ndarray.AttrReader](b)
	if !ok {
		return ndarray.Attrs{}, fmt.Errorf("%w: attributes of an array of format %s", errors.ErrUnsupported, b.Meta().Format)
	}
	return r.Attrs(ctx)
}

// StorageOf measures the stored size of a backend.
func StorageOf(ctx context.Context, b ndarray.Backend) (ndarray.Storage, error) {
	r, ok := ndarray.As[ndarray.StorageReporter](b)
	if !ok {
		return ndarray.Storage{}, fmt.Errorf("%w: size of an array of format %s", errors.ErrUnsupported, b.Meta().Format)
	}
	return r.Storage(ctx)
}

// ScalesOf returns the paths of the dimension scales of a backend, or nil if they are unknown.
func ScalesOf(ctx context.Context, b ndarray.Backend) ([]string, error) {
	if r, ok := ndarray.As[ndarray.ScaleReader](b); ok {
		return r.Scales(ctx)
	}
	return nil, ctx.Err()
}

// ReadStrings reads elements of variable size.
func ReadStrings(ctx context.Context, b ndarray.Backend, dst []string, r ndarray.Region) error {
	s, ok := ndarray.As[ndarray.StringReader](b)
	if !ok {
		return fmt.Errorf("%w: strings in an array of %v", errors.ErrUnsupported, b.Meta().DType)
	}
	return s.ReadStrings(ctx, dst, r)
}

// StoredDType returns the element type as the file of a frame stores it, or "" without one.
func StoredDType(b ndarray.Backend) string {
	if r, ok := ndarray.As[ndarray.StoredTyper](b); ok {
		return r.StoredDType()
	}
	return ""
}

// ChunkBytes returns the stored bytes of the chunk with that number.
func ChunkBytes(ctx context.Context, b ndarray.Backend, n int64) (int64, error) {
	m, ok := ndarray.As[ndarray.ChunkMeasurer](b)
	if !ok {
		return 0, fmt.Errorf("%w: space of single chunks", errors.ErrUnsupported)
	}
	return m.ChunkBytes(ctx, n)
}

// Member is an array in a file that is closed with it.
type Member struct {
	ndarray.Backend
	Done func() error // closes the file; nil: it stays open
	OS   *os.File     // the file of a frame that is read in Go; nil for other arrays
	Name string       // Meta.Path; "": that of the Backend
}

var _ cframe.FileHolder = (*Member)(nil)

// File returns the file of a frame that is read in Go, or nil.
func (m *Member) File() *os.File { return m.OS }

// Meta returns the metadata with the name.
func (m *Member) Meta() ndarray.Meta {
	x := m.Backend.Meta()
	if m.Name != "" {
		x.Path = m.Name
	}
	return x
}

// Unwrap returns the array without the file.
func (m *Member) Unwrap() ndarray.Backend { return m.Backend }

// Close closes the array.
func (m *Member) Close() error {
	err := m.Backend.Close()
	if m.Done != nil {
		err = errors.Join(err, m.Done())
	}
	return err
}

// OpenArray opens the array at a path of a tree that was opened for it. The array closes the tree,
// and so does an error.
func OpenArray(ctx context.Context, t Tree, path string, o *ArrayOptions) (ndarray.Backend, error) {
	b, err := t.Open(ctx, path, o)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	m := &Member{Backend: b, Done: t.Close}
	if f, ok := ndarray.As[cframe.FileHolder](b); ok {
		m.OS = f.File()
	}
	return m, nil
}

// NewArray returns an Array backed by a newly opened backend, or the error of opening it.
func NewArray(b ndarray.Backend, err error) (*ndarray.Array, error) {
	if err != nil {
		return nil, err
	}
	a, err := ndarray.New(b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return a, nil
}

// Unreadable reports whether an error is caused by the content of a source.
func Unreadable(err error) bool {
	return errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ndarray.ErrType)
}

// Failed returns the error of a check of untrusted content for the caller.
func Failed(err error) error {
	if errors.Is(err, ndarray.ErrNotFound) { // the object that the caller names
		return err
	}
	return format.Part(err)
}
