// The backend: one open array of package cblosc behind ndarray's contract.

package b2nd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Backend is one b2nd or Caterva array. It implements every optional interface
// of ndarray.
type Backend struct {
	array *cblosc.Array
	meta  ndarray.Meta

	mu     sync.Mutex // guards the record and the metalayers of attributes together
	record *record
}

// OpenOptions say how Open looks at a file; nil means the zero value.
type OpenOptions struct {
	// DType is the element type of arrays that do not say it in a way ndarray
	// knows: Caterva, structured types, dates. nil: what the file says, and opaque
	// bytes for Caterva.
	DType *ndarray.DType

	// AnyType takes elements of a type that ndarray does not have as opaque bytes,
	// instead of failing. StoredDType then tells what they are.
	AnyType bool
}

// CreateOptions say how Create stores; nil means the zero value.
type CreateOptions struct {
	Sparse bool   // a directory with one file for each chunk instead of one file
	Name   string // what Meta.Path and errors call the array; "": the path
}

// Open opens a file or sparse directory for reading (b2nd_open).
//
// It returns ndarray.ErrNotFound, ErrFormat for anything but a b2nd or Caterva
// array, ErrCorrupt, ErrType for an element type that ndarray does not have and
// that o does not tell, or errors.ErrUnsupported for versions or ranks that the
// library does not read.
func Open(path string, o *OpenOptions) (*Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	a, err := cblosc.OpenArray(path)
	if err != nil {
		return nil, ndarray.Wrap("open", path, translate(err))
	}
	b := &Backend{array: a}
	if err := b.load(path, o); err != nil {
		return nil, errors.Join(ndarray.Wrap("open", path, err), a.Close())
	}
	b.meta.ReadOnly = true
	return b, nil
}

// load reads the record and fills meta.
func (b *Backend) load(path string, o *OpenOptions) error {
	a := b.array
	var err error
	if b.record, err = readRecord(a.SChunk().VLMeta()); err != nil {
		return err
	}
	d, err := dtypeOf(a, o, b.record)
	if err != nil {
		return err
	}
	cp, err := a.SChunk().CParams()
	if err != nil {
		return translate(err)
	}
	b.meta = ndarray.Meta{
		Format: "b2nd", Path: path, Shape: a.Shape(), Null: b.record.null, MaxShape: b.record.maxShape,
		ChunkShape: int64s(a.Chunks()), BlockShape: int64s(a.Blocks()), DType: d, Compression: compression(cp),
	}
	if a.DType() == "" {
		b.meta.Format = "caterva"
	}
	if b.meta.Null {
		if !slices.Equal(b.meta.Shape, nullShape) {
			return fmt.Errorf("%w: a null array of shape %v", ndarray.ErrCorrupt, b.meta.Shape)
		}
		b.meta.Shape, b.meta.ChunkShape, b.meta.BlockShape = nil, nil, nil
	}
	if b.record.fill != nil {
		if len(b.record.fill) != d.Size {
			return fmt.Errorf("%w: fill value of %d bytes, element of %d", ndarray.ErrCorrupt, len(b.record.fill), d.Size)
		}
		b.meta.Fill = bytes.Clone(b.record.fill)
		d.ToNative(b.meta.Fill)
	}
	return nil
}

// nullShape is the shape on disk of an array without shape.
var nullShape = []int64{0}

// Create creates a file, or a directory with o.Sparse, that must not exist
// (b2nd_zeros). Where spec is silent, chunks and blocks are
// ndarray.AutoChunks' and AutoBlocks' choice, compression DefaultCompression's.
//
// It returns what spec.Validate finds, ndarray.ErrExists, ErrNotFound if the
// directory above is missing, ErrShape for chunks above the library's 2 GiB, or
// errors.ErrUnsupported for a rank, codec or filter that the library does not
// have. After an error nothing is left behind, unless removing fails too.
func Create(path string, spec ndarray.Spec, o *CreateOptions) (*Backend, error) {
	if o == nil {
		o = &CreateOptions{}
	}
	name := o.Name
	if name == "" {
		name = path
	}
	b, err := create(path, name, spec, o)
	return b, ndarray.Wrap("create", name, err)
}

func create(path, name string, spec ndarray.Spec, o *CreateOptions) (_ *Backend, err error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if spec.DType.Kind == ndarray.String {
		return nil, fmt.Errorf("%w: arrays of variable strings", errors.ErrUnsupported)
	}
	if spec.Null {
		spec.Shape = nullShape
	}
	if spec.ChunkShape == nil {
		spec.ChunkShape = ndarray.AutoChunks(spec.Shape, spec.DType.Size)
	}
	if spec.BlockShape == nil {
		spec.BlockShape = ndarray.AutoBlocks(spec.ChunkShape, spec.DType.Size)
	}
	params := cblosc.ArrayParams{Shape: spec.Shape, DType: spec.DType.String()}
	if params.Chunks, err = int32s("chunk", spec.ChunkShape); err != nil {
		return nil, err
	}
	if params.Blocks, err = int32s("block", spec.BlockShape); err != nil {
		return nil, err
	}
	cp, err := cparams(spec.Compression, spec.DType.Size)
	if err != nil {
		return nil, err
	}
	params.Storage = cblosc.Storage{Path: path, Contiguous: !o.Sparse, CParams: cp}
	a, err := cblosc.CreateArray(&params)
	if err != nil {
		return nil, translate(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close(), remove(path))
		}
	}()
	b := &Backend{array: a}
	r := recordOf(spec)
	vl := a.SChunk().VLMeta()
	for _, attr := range spec.Attrs {
		if err := r.put(vl, attr); err != nil {
			return nil, err
		}
	}
	if err := r.write(vl); err != nil {
		return nil, err
	}
	if err := b.load(name, &OpenOptions{}); err != nil {
		return nil, err
	}
	cp.BlockSize = spec.DType.Size // bytes: the chunks of an array have its blocks, not an automatic size
	for _, n := range params.Blocks {
		cp.BlockSize *= int(n)
	}
	if err := fill(a.SChunk(), cp, r.fill); err != nil {
		return nil, err
	}
	return b, nil
}

// fill makes every chunk a run of value, in the byte order of storage. Zero bytes
// are what the library creates.
func fill(s *cblosc.SChunk, cp *cblosc.CParams, value []byte) error {
	if len(bytes.Trim(value, "\x00")) == 0 || s.NumChunks() == 0 {
		return nil
	}
	chunk, err := cblosc.SpecialChunk(cp, cblosc.Repeated, s.ChunkSize(), value)
	if err != nil {
		return translate(err)
	}
	for i := range s.NumChunks() {
		if err := s.UpdateChunk(i, chunk); err != nil {
			return translate(err)
		}
	}
	return nil
}

// StoredDType is the element type in the file's own words, "" for Caterva.
func (b *Backend) StoredDType() string { return b.array.DType() }

// Meta describes the array.
func (b *Backend) Meta() ndarray.Meta { return b.meta }

// ReadRegion reads elements (b2nd_get_slice_cbuffer).
func (b *Backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region) error {
	for s := range b.meta.Slabs(r) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := dst[:s.NumElems()*int64(b.meta.DType.Size)]
		if err := b.array.ReadRegion(part, s.Start, s.Shape); err != nil {
			return translate(err)
		}
		b.meta.DType.ToNative(part)
		dst = dst[len(part):]
	}
	return nil
}

// WriteRegion writes elements (b2nd_set_slice_cbuffer). Chunks that r covers only
// in part are decompressed, changed and compressed again.
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
		if err := b.array.WriteRegion(part, s.Start, s.Shape); err != nil {
			return translate(err)
		}
	}
	return nil
}

// Storage reports the compressed bytes of all chunks with their headers.
func (b *Backend) Storage(ctx context.Context) (ndarray.Storage, error) {
	s := b.array.SChunk()
	return ndarray.Storage{StoredBytes: s.CBytes(), NumChunks: s.NumChunks()}, ctx.Err()
}

// Close closes the array; everything was written by the calls before.
func (b *Backend) Close() error { return translate(b.array.Close()) }
