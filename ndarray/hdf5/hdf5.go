// The backend of one dataset and its file.

package hdf5

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/internal/hdf5/striped"
	"github.com/hyperslab/hyperslab/ndarray"
)

var (
	_ Backend                  = (*backend)(nil)
	_ ndarray.ExternalElements = (*backend)(nil)
)

// Backend is implemented by the arrays that this package opens. ndarray.As finds it through
// wrappers. An array of an untrusted file that a worker process reads does not implement it.
type Backend interface {
	ndarray.Backend
	// Dataset returns the open dataset, which belongs to the array: the caller must not close it.
	Dataset() *h5.Dataset
}

// backend is one dataset. It implements every optional interface of ndarray.
type backend struct {
	file    *h5.File // nil if it is being written by the caller
	shared  bool     // the caller closes the file
	lock    *filelock.Lock
	done    func() // releases the part of the lock for the dataset; nil if it is read-only
	dataset *h5.Dataset
	stored  h5.Datatype // also in memory, so that libhdf5 does not convert
	meta    ndarray.Meta
	unnamed error // why meta has no AxisNames; Attrs returns it

	converted bool // elements of a fixed size that have another form in the file

	library bool // libhdf5 moves all elements

	untrusted bool // libhdf5 must not decode chunks that chunkio can decode

	address    uint64 // of contiguous elements in the file, or h5.NoAddress
	direct     direct
	filters    []h5.Filter
	allowLossy bool // OpenOptions.AllowLossy
	plainEdges bool
	elsewhere  []string
	files      files

	striped stripes

	fresh atomic.Bool // created and not written yet

	sequence atomic.Pointer[sequence] // nil unless an order of chunks is in progress
}

// Elsewhere returns the names of other files with elements: those of a virtual dataset or of one
// with external files (H5Pget_virtual_filename, H5Pget_external), each name once. It is empty if
// all elements are in the dataset's own file.
func (b *backend) Elsewhere() []string { return b.elsewhere }

// Scales implements ndarray.ScaleReader.
func (b *backend) Scales(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return dimscale.First(b.dataset, len(b.meta.Shape))
}

// Dataset returns the open dataset, which belongs to the array.
func (b *backend) Dataset() *h5.Dataset { return b.dataset }

// OpenOptions are the options of Open. nil means the zero value.
type OpenOptions struct {
	// Write opens for writing, in place. libhdf5 may delay writes to the file until Close. A
	// program that is killed before Close may leave a file that cannot be opened.
	Write bool

	// AllowLossy allows writes through filters that can change values: scale-offset of floats or
	// with a fixed number of bits, and filters that neither libhdf5 nor package h5/filter contains.
	// Otherwise such writes, and shrinking to a part of a chunk, return errors.ErrUnsupported.
	// ndarray.Array.LossyChanges then counts the changed elements, including other elements of the
	// written chunks.
	AllowLossy bool

	Library bool // libhdf5 reads and writes all elements, without workers; for comparison

	// Untrusted decodes chunks without libhdf5 if package chunkio supports the filters. libhdf5 is
	// unsafe here, because it reads out of bounds if a chunk decodes to fewer bytes than it should
	// have.
	Untrusted bool

	// Lock is the lock of the file, which the caller holds, and of which the array keeps a
	// reference until Close. Nil: with Write, Open takes the lock and waits for other writers:
	// without limit for other processes, 10 seconds for a writer of this process. Then it returns
	// ndarray.ErrLocked. Arrays of one process that are open for writing share the lock, but each
	// dataset is open for writing once.
	Lock *ndarray.Lock

	// ExternalDir is the directory of external files with relative names; "" is the working
	// directory, as for libhdf5.
	ExternalDir string

	// File is the file of Open, which the caller has opened for reading, or nil. Open takes
	// ownership of it, also if it returns an error: [h5.OpenOptions]. With Write it must be nil.
	File *os.File

	// Shared lets OpenIn use a file that stays the caller's, which closes it after the array.
	Shared bool

	// Missing is called for each missing source of a virtual dataset and each missing external
	// file before elements are read. The elements in a missing source, and all elements of a
	// dataset with a missing external file, are then read as fill value. If Missing is nil,
	// reading such a dataset returns ndarray.ErrNotFound.
	Missing func(error)

	// Unlocked, if not nil, is called if the file was opened without a lock because its file system
	// refuses locks; see h5.File.Unlocked.
	Unlocked func(file string, err error)
}

// Open opens a file, read-only unless o.Write is set, and the dataset called object in it (H5Fopen,
// H5Dopen2).
//
// It returns ndarray.ErrNotFound for a missing file or object, ErrFormat if the file is not HDF5 or
// the object is not a dataset, or ErrCorrupt. For an element type that ndarray does not have, the
// error contains the type's name and is both ErrType and errors.ErrUnsupported. If o.Write is set
// and the file cannot be written, it returns ErrReadOnly.
func Open(file, object string, o *OpenOptions) (ndarray.Backend, error) {
	location := join(file, object)
	if o == nil {
		o = &OpenOptions{}
	}
	if o.Write {
		b, err := openLocked(file, object, location, o)
		if err != nil {
			return nil, ndarray.Wrap("open", location, err)
		}
		return b, nil
	}
	f, err := h5.OpenWith(file, &h5.OpenOptions{File: o.File})
	if err != nil {
		return nil, ndarray.Wrap("open", location, err)
	}
	if why := f.Unlocked(); why != nil && o.Unlocked != nil {
		o.Unlocked(file, why)
	}
	b, err := open(f.Root(), absolute(object), location, o)
	if err != nil {
		return nil, errors.Join(ndarray.Wrap("open", location, err), f.Close())
	}
	b.meta.ReadOnly = true
	b.library, b.untrusted = o.Library, o.Untrusted
	b.striped.allowed = b.files.virtual && b.meta.ReadOnly && !o.Library && !o.Untrusted && o.Missing == nil
	return b, nil
}

// openLocked opens a dataset for writing under the lock of its file.
func openLocked(file, object, location string, o *OpenOptions) (_ *backend, err error) {
	lock := o.Lock.Share()
	if lock == nil {
		if lock, err = filelock.Acquire(context.Background(), file, &filelock.Options{Library: true}); err != nil {
			return nil, err
		}
	}
	var b *backend
	try := func() error {
		b, err = openWritable(file, object, location, o, lock)
		return err
	}
	if o.Lock == nil {
		err = filelock.Retry(context.Background(), file, try)
	} else { // the caller repeats the call
		err = try()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	b.lock, b.library = lock, o.Library
	return b, nil
}

// openWritable opens a dataset for writing. One array of the process at a time can have it: another
// one would not see changes of its shape.
func openWritable(file, object, location string, o *OpenOptions, lock *filelock.Lock) (_ *backend, err error) {
	f, err := h5.Open(file, h5.ReadWrite)
	if err != nil {
		return nil, err
	}
	done := func() {}
	defer func() {
		if err != nil {
			done()
			err = errors.Join(err, f.Close())
		}
	}()
	if why := f.Unlocked(); why != nil && o.Unlocked != nil {
		o.Unlocked(file, why)
	}
	if info, err := f.Root().ObjectInfo(absolute(object)); err == nil { // else open returns the error
		if done, err = lock.Part(fmt.Sprint(info.FileNo, ":", info.Address)); err != nil {
			done = func() {}
			return nil, err
		}
	}
	b, err := open(f.Root(), absolute(object), location, o)
	if err != nil {
		return nil, err
	}
	if err := b.setLossy(f.Root(), absolute(object), o.AllowLossy); err != nil {
		return nil, errors.Join(err, b.dataset.Close())
	}
	b.done = done
	return b, nil
}

// open opens a dataset by its name in a group or its absolute path.
func open(parent *h5.Group, name, location string, o *OpenOptions) (*backend, error) {
	if r, size := parent.File().Source(); r != nil {
		// libhdf5 reads the attributes one by one.
		if info, err := parent.ObjectInfo(name); err == nil {
			h5prefetch.Open(r, size).Header(info.Address)
		}
	}
	d, err := parent.OpenDataset(name)
	if err != nil {
		kind, kindErr := parent.Kind(name)
		if kindErr != nil {
			return nil, kindErr
		}
		if kind != h5.DatasetObject {
			return nil, errs.Mark(fmt.Errorf("it is a %v, not a dataset", kind), ndarray.ErrFormat)
		}
		return nil, err
	}
	b, err := newBackend(parent.File(), d, location)
	if err == nil {
		b.files.dir, b.files.missing = o.ExternalDir, o.Missing
	}
	return b, err
}

func newBackend(f *h5.File, d *h5.Dataset, location string) (*backend, error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	b, err := backendOf(d, &info, location)
	if err != nil {
		return nil, err
	}
	b.file = f
	names, unnamed := dimscale.Names(d, len(b.meta.Shape))
	if b.unnamed = unnamed; unnamed == nil {
		b.meta.AxisNames = names
	}
	b.meta.Comment, err = d.Comment()
	return b, err
}

// backendOf returns the backend of a dataset with the properties in info, without dimension names
// and comment.
func backendOf(d *h5.Dataset, info *h5.DatasetInfo, location string) (*backend, error) {
	meta, _, err := describe(info, location)
	if err != nil {
		return nil, err
	}
	b := &backend{dataset: d, stored: info.Datatype, meta: meta, converted: meta.DType.Size > 0 && converted(meta.DType), address: contiguous(info), filters: info.Filters, plainEdges: info.PlainEdges}
	add := func(name string) {
		if name != "." && !slices.Contains(b.elsewhere, name) {
			b.elsewhere = append(b.elsewhere, name)
		}
	}
	b.files.add(info)
	for _, m := range info.Mappings {
		add(m.File)
	}
	for _, x := range info.External {
		add(x.Name)
	}
	return b, nil
}

// contiguous returns the offset of contiguous elements in the dataset's file, or h5.NoAddress.
func contiguous(info *h5.DatasetInfo) uint64 {
	if info.Layout != h5.Contiguous || len(info.External) > 0 {
		return h5.NoAddress
	}
	return info.Address
}

// Attributes of HDF5's dimension scales API with labels and scales (H5DSpublic.h).
const (
	labelsAttr = "DIMENSION_LABELS"
	scalesAttr = "DIMENSION_LIST"
	usersAttr  = "REFERENCE_LIST" // of a scale: the arrays that it belongs to
)

// Resize changes the dataset's shape (H5Dset_extent).
func (b *backend) Resize(ctx context.Context, shape []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.lock.Check(); err != nil {
		return err
	}
	if err := b.CheckResize(shape); err != nil {
		return err
	}
	if err := b.dataset.Resize(shape...); err != nil {
		return err
	}
	b.meta.Shape = shape
	return nil
}

// CheckResize implements ndarray.ResizeChecker.
func (b *backend) CheckResize([]int64) error {
	if b.meta.MaxShape == nil || b.meta.ChunkShape == nil {
		return fmt.Errorf("%w: a dataset of fixed shape %v; one that may grow has a maximum shape and chunks", errors.ErrUnsupported, b.meta.Shape)
	}
	return nil
}

// CreateOptions are the options of Create. nil means the zero value.
type CreateOptions struct {
	Name    string // name of the array in Meta.Path and errors; "": FILE:/object
	Library bool   // as in OpenOptions

	// Committed is a committed datatype of the same file that describes the elements. Only with
	// CreateIn; nil: the dataset has its own description.
	Committed *h5.CommittedType

	// Like is a dataset from which the new one copies properties that a Spec does not contain:
	// order and storage of attributes, object times, the compact layout, and the times when space
	// is allocated and fill values are written. Only with CreateIn.
	Like *h5.DatasetInfo

	// Stripes are names of files that are created for the chunks; see hyperslab.CreateOptions.
	Stripes []string

	// StripeOf returns the index in Stripes of the file for the chunk at the given grid
	// coordinates. If it is nil, chunks go to the files in turn, in row-major order.
	StripeOf func(chunk []int64) int

	// Mappings map the elements of a virtual dataset to datasets of other files, which need not
	// exist yet. The chunks and the compression of the Spec do not apply. nil: the dataset contains
	// its elements.
	Mappings []h5.Mapping

	// External are ranges of files that contain the elements in storage order, without chunks and
	// compression. Create does not create these files. A write to the array changes them.
	External []h5.ExternalFile
}

// Create creates a file, which must not exist, with one dataset called object and its parent groups
// (H5Fcreate, H5Dcreate2). The package documentation describes the defaults. Chunks longer than a
// fixed dimension are clipped to it.
//
// It returns the errors of spec.Validate, ndarray.ErrExists, ErrNotFound if the parent directory is
// missing, ErrParam, or errors.ErrUnsupported for an unsupported element type, codec or filter and
// for a comment of more than 65534 bytes. After an error Create deletes the file, unless deleting
// fails too.
func Create(file, object string, spec ndarray.Spec, o *CreateOptions) (ndarray.Backend, error) {
	location := join(file, object)
	if o != nil && o.Name != "" {
		location = o.Name
	}
	if o == nil {
		o = &CreateOptions{}
	}
	b, err := create(file, object, location, spec, &CreateOptions{Stripes: o.Stripes, StripeOf: o.StripeOf, Mappings: o.Mappings, External: o.External})
	if err != nil {
		return nil, ndarray.Wrap("create", location, err)
	}
	b.library = o.Library
	return b, nil
}

func create(file, object, location string, spec ndarray.Spec, o *CreateOptions) (_ *backend, err error) {
	if err := Check(object, spec); err != nil {
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
	b, err := createIn(f, object, location, spec, o)
	if err != nil {
		return nil, err
	}
	b.file = f
	return b, nil
}

// mostComment is the size of a message in an object header without the zero byte after the string.
const mostComment = 65534

// Check returns the errors that Create would return for spec, without creating anything: the errors
// of spec.Validate, ErrParam, or errors.ErrUnsupported.
func Check(object string, spec ndarray.Spec) error {
	if err := checkNamed(object, spec); err != nil {
		return err
	}
	if _, err := toDatatype(spec.DType); err != nil {
		return err
	}
	if _, err := options(spec); err != nil {
		return err
	}
	_, err := toAttributes(spec.Attrs)
	return err
}

// checkNamed returns the errors of Check that createIn does not find before it changes the file.
func checkNamed(object string, spec ndarray.Spec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	if absolute(object) == "/" || strings.IndexByte(object, 0) >= 0 {
		return fmt.Errorf("%w: dataset name %q", ndarray.ErrParam, object)
	}
	if n := len(spec.Comment); n > mostComment {
		return fmt.Errorf("%w: a comment of %d bytes, an object header holds %d", errors.ErrUnsupported, n, mostComment)
	}
	return nil
}

// CreateIn creates a dataset called object and its parent groups in an open file. It works like
// Create, and also returns ErrType if o.Committed does not match. Close
// of the array does not close the file. After an error the dataset may exist.
func CreateIn(f *h5.File, object string, spec ndarray.Spec, o *CreateOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &CreateOptions{}
	}
	location := o.Name
	if location == "" {
		location = join(f.Path(), object)
	}
	if err := checkNamed(object, spec); err != nil {
		return nil, ndarray.Wrap("create", location, err)
	}
	b, err := createIn(f, object, location, spec, o)
	if err != nil {
		return nil, ndarray.Wrap("create", location, err)
	}
	b.library = o.Library
	return b, nil
}

func createIn(f *h5.File, object, location string, spec ndarray.Spec, co *CreateOptions) (_ *backend, err error) {
	t, err := toDatatype(spec.DType)
	if co.Committed != nil && err == nil {
		t, err = sharedType(co.Committed, spec.DType)
	}
	if err != nil {
		return nil, err
	}
	o, err := options(spec)
	if err != nil {
		return nil, err
	}
	if co.Mappings != nil || co.External != nil {
		o = &h5.DatasetOptions{Fill: o.Fill, Mappings: co.Mappings, External: co.External}
	}
	if like := co.Like; like != nil {
		phase := like.AttributePhase
		o.AttributeOrder, o.AttributePhase, o.Times = like.AttributeOrder, &phase, like.Times
		if o.ChunkShape == nil && like.Layout == h5.Compact {
			o.Compact = true
		} else if (o.ChunkShape != nil) == (like.Layout == h5.Chunked) && like.Layout != h5.Virtual {
			o.Alloc = like.Alloc
		}
		o.FillTime, o.NoFill = like.FillTime, like.FillKind == h5.FillUndefined
		switch { // fill values that are not in Spec.Fill
		case like.FillKind != h5.FillValue:
		case !like.Datatype.Plain():
			o.FillValues = like.FillValues
		case like.FillTime == h5.FillNever && like.Datatype.Equal(t):
			o.Fill = like.Fill
		}
	}
	attrs, err := toAttributes(spec.Attrs)
	if err != nil {
		return nil, err
	}
	var d *h5.Dataset
	var st *striped.Dataset
	err = withHeaders(f, h5attr.Sparse(spec.DType) || h5attr.Dense(spec.Attrs), func() (err error) {
		if co.Stripes == nil {
			d, err = f.Root().CreateDataset(absolute(object), t, space(spec), o)
			return err
		}
		st, err = striped.Create(f.Root(), absolute(object), t, space(spec), striped.Options{Files: co.Stripes, Place: co.StripeOf}, *o)
		if err == nil {
			d = st.Dataset
		}
		return err
	})
	defer func() {
		if err == nil {
			return
		}
		if st != nil {
			err = errors.Join(err, st.Close(), striped.Remove(striped.Paths(f.Path(), co.Stripes)))
		} else if d != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err != nil {
		return nil, err
	}
	for axis, name := range spec.AxisNames {
		if name == "" {
			continue
		}
		if err := d.SetAxisLabel(axis, name); err != nil {
			return nil, err
		}
	}
	for _, a := range attrs {
		if err := d.WriteAttribute(a); err != nil {
			return nil, err
		}
	}
	if spec.Comment != "" {
		if err := d.SetComment(spec.Comment); err != nil {
			return nil, err
		}
	}
	var b *backend
	if known(t, o, co) {
		b, err = createdBackend(d, t, spec, o, location)
	} else {
		b, err = newBackend(nil, d, location)
	}
	if st != nil && err == nil {
		b.striped.created, b.meta.ChunkShape = st, o.ChunkShape
	}
	return b, err
}

// sharedType returns a committed datatype for elements of type d. It returns ErrType if t describes
// other elements.
func sharedType(t *h5.CommittedType, d ndarray.DType) (h5.Datatype, error) {
	shared, err := t.Shared()
	if err != nil {
		return shared, err
	}
	if is, err := toDType(shared); err != nil || !is.Equal(d) {
		return shared, fmt.Errorf("%w: %v by the committed datatype %v", ndarray.ErrType, d, shared)
	}
	return shared, nil
}

// withHeaders calls create. Objects that it creates can store attributes outside of their headers
// if dense is set.
func withHeaders(f *h5.File, dense bool, create func() error) error {
	if !dense {
		return create()
	}
	_, low, high, err := f.Access()
	if err != nil {
		return err
	}
	if err := f.SetFormats(max(low, h5.V18), high); err != nil {
		return err
	}
	return errors.Join(create(), f.SetFormats(low, high))
}

// absolute returns the path of an object from the root. HDF5 treats ".." as an ordinary name.
func absolute(object string) string { return "/" + strings.Trim(object, "/") }

// join returns the name of a dataset in messages.
func join(file, object string) string { return file + ":" + absolute(object) }

// Meta describes the dataset.
func (b *backend) Meta() ndarray.Meta { return b.meta }

// ReadStrings reads elements of variable size (H5Dread). The strings and sequences of a call may
// have more bytes than the limit of ndarray.SetReadMemory only if the file has them too. In a
// corrupt file any number of elements can refer to the same bytes.
func (b *backend) ReadStrings(ctx context.Context, dst []string, r ndarray.Region) error {
	if err := b.checkFiles(); err != nil {
		return err
	}
	total, most := int64(0), budget.Limit()
	for box := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
		s := ndarray.Region(box)
		if err := ctx.Err(); err != nil {
			return err
		}
		n := s.NumElems()
		read := b.readVariable
		if b.meta.DType.Kind == ndarray.String {
			read = b.readStrings
		}
		bytes, err := read(dst[:n], s)
		if err != nil {
			return err
		}
		if total += bytes; total > most {
			if most, err = b.dataset.File().Size(); err != nil {
				return err
			}
			if total > most {
				return fmt.Errorf("%w: strings and sequences of more than %d bytes in a file of %d bytes", errs.ErrLimit, total, most)
			}
		}
		dst = dst[n:]
	}
	return nil
}

// readStrings reads strings and returns the number of their bytes.
func (b *backend) readStrings(dst []string, r ndarray.Region) (bytes int64, err error) {
	err = h5value.Read(b.dataset, dst, region(r))
	for _, s := range dst {
		bytes += int64(len(s))
	}
	return bytes, err
}

// WriteStrings writes elements of variable size (H5Dwrite).
func (b *backend) WriteStrings(ctx context.Context, src []string, r ndarray.Region) error {
	for box := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
		s := ndarray.Region(box)
		if err := ctx.Err(); err != nil {
			return err
		}
		n := s.NumElems()
		write := b.writeVariable
		if b.meta.DType.Kind == ndarray.String {
			write = func(src []string, s ndarray.Region) error { return h5value.Write(b.dataset, src, region(s)) }
		}
		if err := write(src[:n], s); err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

// Close closes the dataset and the file, and passes all writes to the operating system.
func (b *backend) Close() error {
	err := b.closeDataset()
	if b.file != nil && !b.shared {
		err = errors.Join(err, b.file.Close(), b.lock.Check())
	}
	if b.done != nil {
		b.done()
	}
	return errors.Join(err, b.lock.Release())
}
