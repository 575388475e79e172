package npy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/ndarray"
)

// backend is the array of a .npy file.
type backend struct {
	array npy.Array
	meta  ndarray.Meta
	r     io.ReaderAt
	file  *os.File       // nil: the caller owns r
	lock  *filelock.Lock // of an array that is open for writing
}

// Open opens a file, read-only unless write is set. A file in Fortran order can only be read.
//
// It returns ndarray.ErrCorrupt, ErrFormat for anything but a regular file, and
// errors.ErrUnsupported for Python objects.
func Open(file string, write bool) (ndarray.Backend, error) {
	return OpenWith(file, &OpenOptions{Write: write})
}

// OpenOptions are the options of OpenWith. nil means the zero value.
type OpenOptions struct {
	Write bool // open for writing, in place

	// Lock is the lock of the file, which the caller holds, and of which the array keeps a
	// reference until Close. Nil: with Write, OpenWith takes the lock and waits for other writers:
	// without limit for other processes, 10 seconds for a writer of this process. Then it returns
	// ndarray.ErrLocked.
	Lock *ndarray.Lock
}

// OpenWith is Open with options.
func OpenWith(file string, o *OpenOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	b, err := openLocked(file, o)
	if err != nil {
		return nil, ndarray.Wrap("open", file, err)
	}
	return b, nil
}

func openLocked(file string, o *OpenOptions) (*backend, error) {
	if !o.Write {
		return open(file, false)
	}
	lock, err := filelock.Hold(o.Lock, file)
	if err != nil {
		return nil, err
	}
	b, err := open(file, true)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	b.lock = lock
	return b, nil
}

func open(file string, write bool) (_ *backend, err error) {
	f, info, err := regularfile.Open(file)
	if err != nil {
		return nil, err
	}
	if write {
		if err := f.Close(); err != nil {
			return nil, err
		}
		if f, err = os.OpenFile(file, os.O_RDWR, 0); err != nil {
			return nil, err
		}
	}
	b, err := newBackend(f, info.Size(), file)
	if err == nil && write && b.array.Fortran && len(b.array.Shape) > 1 {
		err = fmt.Errorf("%w: writing to .npy in Fortran order", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b.file, b.meta.ReadOnly = f, !write
	return b, nil
}

// OpenReaderAt opens the content of a file of size bytes for reading. name is its path in messages.
// The caller closes r after the array.
func OpenReaderAt(r io.ReaderAt, size int64, name string) (ndarray.Backend, error) {
	b, err := newBackend(r, size, name)
	if err != nil {
		return nil, ndarray.Wrap("open", name, err)
	}
	return b, nil
}

func newBackend(r io.ReaderAt, size int64, name string) (*backend, error) {
	a, err := npy.Open(r, size)
	if err != nil {
		return nil, err
	}
	m := ndarray.Meta{Format: "npy", Path: name, Shape: a.Shape, DType: a.DType, ReadOnly: true}
	return &backend{array: a, meta: m, r: r}, nil
}

// Create creates a file that does not exist. The elements are zero. ChunkShape, BlockShape and
// Compression of spec are ignored, because the elements of .npy are one piece.
//
// It returns the errors of spec.Validate, os.ErrExist, and errors.ErrUnsupported for attributes,
// names of dimensions, a comment, a fill value other than zero, a maximum shape, a null array, and
// element types that NumPy does not have.
func Create(file string, spec ndarray.Spec) (ndarray.Backend, error) {
	b, err := create(file, spec)
	if err != nil {
		return nil, ndarray.Wrap("create", file, err)
	}
	return b, nil
}

// check returns an error for properties that .npy cannot store.
func check(spec ndarray.Spec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	named := slices.ContainsFunc(spec.AxisNames, func(name string) bool { return name != "" })
	for _, x := range []struct {
		has  bool
		what string
	}{
		{!spec.DType.NumPy().EqualValues(spec.DType), "elements of type " + spec.DType.String()},
		{spec.DType.Kind == ndarray.SubArray, "elements that are sub-arrays, which numpy.load refuses: " + spec.DType.String()},
		{spec.Null, "an array without a shape"},
		{len(spec.Attrs) > 0, "attributes"},
		{named, "names of dimensions"},
		{spec.Comment != "", "a comment"},
		{slices.ContainsFunc(spec.Fill, func(b byte) bool { return b != 0 }), "a fill value other than zero"},
		{spec.MaxShape != nil && !slices.Equal(spec.MaxShape, spec.Shape), "a maximum shape"},
	} {
		if x.has {
			return fmt.Errorf("%w: .npy cannot store %s", errors.ErrUnsupported, x.what)
		}
	}
	_, err := npy.Descr(spec.DType)
	return err
}

func create(file string, spec ndarray.Spec) (_ *backend, err error) {
	if err := check(spec); err != nil {
		return nil, err
	}
	head, err := npy.Header(spec.DType, spec.Shape)
	if err != nil {
		return nil, err
	}
	a := npy.Array{Shape: slices.Clone(spec.Shape), DType: spec.DType, Offset: int64(len(head))}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(file))
		}
	}()
	if _, err := f.Write(head); err != nil {
		return nil, err
	}
	m := ndarray.Meta{Format: "npy", Path: file, Shape: a.Shape, DType: a.DType}
	if err := f.Truncate(a.Offset + a.NumBytes()); err != nil {
		return nil, err
	}
	return &backend{array: a, meta: m, r: f, file: f}, nil
}

// Meta describes the array.
func (b *backend) Meta() ndarray.Meta { return b.meta }

// ReadRegion reads the elements of r.
func (b *backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	return b.array.ReadRegion(ctx, dst, b.r, r)
}

// WriteRegion writes the elements of r.
func (b *backend) WriteRegion(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	if err := b.lock.Check(); err != nil {
		return err
	}
	return errors.Join(b.array.WriteRegion(ctx, b.file, src, r), b.lock.Check())
}

// Attrs returns no attributes, because .npy has none.
func (b *backend) Attrs(context.Context) (ndarray.Attrs, error) { return ndarray.Attrs{}, nil }

// Storage returns the size of the elements.
func (b *backend) Storage(context.Context) (ndarray.Storage, error) {
	return ndarray.Storage{StoredBytes: b.array.NumBytes()}, nil
}

// Close closes the file, unless OpenReaderAt opened it.
func (b *backend) Close() error {
	if b.file == nil {
		return nil
	}
	return errors.Join(b.file.Close(), b.lock.Release())
}
