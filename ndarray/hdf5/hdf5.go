// The backend: one dataset, and the file around it, behind ndarray's contract.

package hdf5

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Backend is one dataset. It implements every optional interface of ndarray.
type Backend struct {
	file    *h5.File
	dataset *h5.Dataset
	stored  h5.Datatype // what crosses to the library: it converts nothing
	meta    ndarray.Meta
}

// Open opens a file for reading, and the dataset called object in it (H5Fopen,
// H5Dopen2).
//
// It returns ndarray.ErrNotFound for file or object, ErrFormat if the file is not
// HDF5 or the object no dataset, ErrCorrupt, or, with the type's name, ErrType
// and errors.ErrUnsupported for an element type that ndarray does not have.
func Open(file, object string) (*Backend, error) {
	location := join(file, object)
	f, err := h5.Open(file, h5.ReadOnly)
	if err != nil {
		return nil, ndarray.Wrap("open", location, Translate(err))
	}
	b, err := open(f, object, location)
	if err != nil {
		return nil, errors.Join(ndarray.Wrap("open", location, Translate(err)), f.Close())
	}
	b.meta.ReadOnly = true
	return b, nil
}

func open(f *h5.File, object, location string) (*Backend, error) {
	kind, err := f.Root().Kind(absolute(object))
	if err != nil {
		return nil, err
	}
	if kind != h5.DatasetObject {
		return nil, fmt.Errorf("%w: it is a %v, not a dataset", ndarray.ErrFormat, kind)
	}
	d, err := f.Root().OpenDataset(absolute(object))
	if err != nil {
		return nil, err
	}
	return newBackend(f, d, location)
}

func newBackend(f *h5.File, d *h5.Dataset, location string) (*Backend, error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	meta, _, err := describe(&info, location)
	if err != nil {
		return nil, err
	}
	return &Backend{file: f, dataset: d, stored: info.Datatype, meta: meta}, nil
}

// CreateOptions say how Create works; nil means the zero value.
type CreateOptions struct {
	Name string // what Meta.Path and errors call the array; "": FILE:/object
}

// Create creates a file, which must not exist, with one dataset called object and
// the groups on the way to it (H5Fcreate, H5Dcreate2). Package doc says what it
// chooses where spec is silent; chunks longer than a fixed axis are clipped to
// it.
//
// It returns what spec.Validate finds, ndarray.ErrExists, ErrNotFound if the
// directory above is missing, ErrParam, or errors.ErrUnsupported for an element
// type, codec or filter that HDF5 does not have here. After an error no file is
// left behind, unless removing fails too.
func Create(file, object string, spec ndarray.Spec, o *CreateOptions) (*Backend, error) {
	location := join(file, object)
	if o != nil && o.Name != "" {
		location = o.Name
	}
	b, err := create(file, object, location, spec)
	return b, ndarray.Wrap("create", location, Translate(err))
}

func create(file, object, location string, spec ndarray.Spec) (_ *Backend, err error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if spec.DType.Kind == ndarray.String {
		return nil, fmt.Errorf("%w: arrays of variable strings", errors.ErrUnsupported)
	}
	if absolute(object) == "/" {
		return nil, fmt.Errorf("%w: dataset name %q", ndarray.ErrParam, object)
	}
	t, err := toDatatype(spec.DType)
	if err != nil {
		return nil, err
	}
	o, err := options(spec)
	if err != nil {
		return nil, err
	}
	attrs, err := toAttributes(spec.Attrs)
	if err != nil {
		return nil, err
	}
	f, err := h5.Create(file, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(file))
		}
	}()
	d, err := f.Root().CreateDataset(absolute(object), t, space(spec), o)
	if err != nil {
		return nil, err
	}
	for _, a := range attrs {
		if err := d.WriteAttribute(a); err != nil {
			return nil, err
		}
	}
	return newBackend(f, d, location)
}

// absolute is the path of an object from the root. To HDF5 ".." is a name like
// any other.
func absolute(object string) string { return "/" + strings.Trim(object, "/") }

// join is how a dataset is named to people.
func join(file, object string) string { return file + ":" + absolute(object) }

// Meta describes the dataset.
func (b *Backend) Meta() ndarray.Meta { return b.meta }

// ReadRegion reads elements (H5Dread). The bytes come as they are stored and are
// turned to native order here: faster than the library's conversion, and to the
// last bit for every NaN.
func (b *Backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region) error {
	for s := range b.meta.Slabs(r) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := dst[:s.NumElems()*int64(b.meta.DType.Size)]
		dst = dst[len(part):]
		if err := b.dataset.ReadRegion(part, b.stored, region(s)); err != nil {
			return Translate(err)
		}
		b.meta.DType.ToNative(part)
	}
	return nil
}

// WriteRegion writes elements (H5Dwrite), in the order of storage.
func (b *Backend) WriteRegion(ctx context.Context, src []byte, r ndarray.Region) error {
	var swapped []byte // one slab in the order of storage
	for s := range b.meta.Slabs(r) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := src[:s.NumElems()*int64(b.meta.DType.Size)]
		src = src[len(part):]
		if !b.meta.DType.IsNative() {
			swapped = append(swapped[:0], part...)
			b.meta.DType.SwapBytes(swapped)
			part = swapped
		}
		if err := b.dataset.WriteRegion(part, b.stored, region(s)); err != nil {
			return Translate(err)
		}
	}
	return nil
}

func region(r ndarray.Region) h5.Region { return h5.Region{Start: r.Start, Count: r.Shape} }

// Storage reports what the elements take in the file (H5Dget_storage_size), after
// those that wait in the library's chunk cache were written.
func (b *Backend) Storage(ctx context.Context) (ndarray.Storage, error) {
	if !b.meta.ReadOnly {
		if err := b.dataset.Flush(); err != nil {
			return ndarray.Storage{}, Translate(err)
		}
	}
	info, err := b.dataset.Info()
	if err != nil {
		return ndarray.Storage{}, Translate(err)
	}
	_, s, err := describe(&info, b.meta.Path)
	return s, errors.Join(err, ctx.Err())
}

// Close closes dataset and file; what was written reaches the operating system.
func (b *Backend) Close() error {
	return errors.Join(Translate(b.dataset.Close()), Translate(b.file.Close()))
}
