// Arrays of n dimensions: b2nd, and Caterva for reading.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_array_zeros
// #cgo nocallback goblosc2_array_zeros
// #cgo noescape goblosc2_array_from_schunk
// #cgo nocallback goblosc2_array_from_schunk
// #cgo noescape goblosc2_array_read
// #cgo nocallback goblosc2_array_read
// #cgo noescape goblosc2_array_write
// #cgo nocallback goblosc2_array_write
// #cgo noescape goblosc2_array_resize
// #cgo nocallback goblosc2_array_resize
import "C"

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"
)

// MaxDim is the greatest number of dimensions of the linked library
// (B2ND_MAX_DIM): 8, from C-Blosc2 2.21.3 on 16.
const MaxDim = C.B2ND_MAX_DIM

// maxDims is the greatest number of dimensions of any supported release.
const maxDims = C.GOBLOSC2_MAX_DIM

// ArrayParams says what CreateArray creates. All shapes have the array's rank.
type ArrayParams struct {
	Shape   []int64     // elements in each dimension, ≥ 0; empty for a scalar
	Chunks  []int32     // elements of a chunk in each dimension, ≥ 1
	Blocks  []int32     // elements of a block in each dimension, 1 to Chunks
	DType   string      // as NumPy writes it: "<f8"; "" stores "|S" and the type size
	Storage Storage     // CParams.TypeSize is the bytes of an element; CParams.BlockSize is taken from Blocks
	Meta    []Metalayer // fixed metalayers beside the array's own, at most 15
}

// Array is an array of elements of one size, stored in chunks.
type Array struct {
	sc    *SChunk
	dtype string
	rank  int
	// Guarded by the handle's mutex.
	geometry C.goblosc2_geometry_t
	caterva  bool
}

// CreateArray creates an array of zeros (b2nd_zeros). Nothing is overwritten. A
// creation that fails in the library may leave a part of the file.
//
// It returns ErrParam, ErrLimit for a chunk above 2 GiB minus 32 bytes, an array
// above 2^63-1 bytes or more than 15 metalayers, errors.ErrUnsupported for more
// than MaxDim dimensions, ErrExists, fs.ErrNotExist if the parent directory is
// missing, or an *Error from the library.
func CreateArray(p *ArrayParams) (*Array, error) {
	const op = "create array"
	s := p.Storage
	path, err := s.place()
	if err != nil {
		return nil, refused(op, s.Path, err)
	}
	if err := p.validate(); err != nil {
		return nil, refused(op, s.Path, err)
	}
	cp, _ := s.CParams.orDefault()
	dp, _ := s.DParams.orDefault()
	params := cp.toC()
	a := &Array{dtype: p.DType, rank: len(p.Shape), sc: &SChunk{path: path, framed: s.Contiguous || path != "", array: true, delta: cp.usesDelta()}}
	if a.dtype == "" {
		a.dtype = fmt.Sprintf("|S%d", cp.TypeSize)
	}
	g := &a.geometry
	g.ndim = C.int32_t(len(p.Shape))
	a.sc.block = cp.TypeSize
	for i := range p.Shape {
		g.shape[i], g.chunks[i], g.blocks[i] = C.int64_t(p.Shape[i]), C.int32_t(p.Chunks[i]), C.int32_t(p.Blocks[i])
		a.sc.block *= int(p.Blocks[i])
	}
	names := make([]byte, len(p.Meta)*(MaxMetalayerName+1))
	lengths := make([]int32, len(p.Meta))
	var contents []byte
	for i, m := range p.Meta {
		copy(names[i*(MaxMetalayerName+1):], m.Name)
		lengths[i] = int32(len(m.Content))
		contents = append(contents, m.Content...)
	}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_array_zeros(&cerr, cPath(path), cBool(s.Contiguous), &params, C.int32_t(dp.Threads), g, cString(a.dtype),
		C.int32_t(len(p.Meta)), (*C.uint8_t)(unsafe.SliceData(names)), (*C.int32_t)(unsafe.SliceData(lengths)),
		(*C.uint8_t)(unsafe.SliceData(contents)), &c, &a.sc.facts) < 0 {
		return nil, failed(op, path, &cerr)
	}
	a.sc.h = own(c, "Array", path)
	return a, nil
}

// validate reports every bad field.
func (p *ArrayParams) validate() error {
	cp, err := p.Storage.CParams.orDefault()
	if err != nil {
		return err
	}
	rank := len(p.Shape)
	if rank > MaxDim {
		return errTooManyDims(rank)
	}
	if len(p.Chunks) != rank || len(p.Blocks) != rank {
		return fmt.Errorf("%w: shape of %d dimensions, chunks of %d, blocks of %d", ErrParam, rank, len(p.Chunks), len(p.Blocks))
	}
	var errs []error
	bad := func(sentinel error, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{sentinel}, args...)...))
	}
	for i := range p.Shape {
		n, c, b := p.Shape[i], p.Chunks[i], p.Blocks[i]
		if n < 0 {
			bad(ErrParam, "shape[%d] = %d, want ≥ 0", i, n)
		}
		if c < 1 {
			bad(ErrParam, "chunks[%d] = %d, want ≥ 1", i, c)
		}
		if b < 1 || b > c {
			bad(ErrParam, "blocks[%d] = %d, want 1 to chunks[%d] = %d", i, b, i, c)
		}
	}
	if strings.IndexByte(p.DType, 0) >= 0 {
		bad(ErrParam, "dtype %q holds a zero byte", p.DType)
	}
	if len(p.Meta) > MaxMetalayers-1 {
		bad(ErrLimit, "%d metalayers beside the array's own, at most %d", len(p.Meta), MaxMetalayers-1)
	}
	for i, m := range p.Meta {
		if err := checkMetalayer(m.Name, m.Content); err != nil {
			errs = append(errs, fmt.Errorf("meta[%d]: %w", i, err))
		}
		same := func(o Metalayer) bool { return o.Name == m.Name }
		if m.Name == "b2nd" || m.Name == "caterva" || slices.ContainsFunc(p.Meta[:i], same) {
			bad(ErrExists, "meta[%d]: metalayer %q", i, m.Name)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, checkExtent(p.Shape, p.Chunks, p.Blocks, cp.TypeSize))
	}
	return errors.Join(errs...)
}

func errTooManyDims(rank int) error {
	return fmt.Errorf("%w: %d dimensions, C-Blosc2 %s has at most %d (16 from 2.21.3 on)", errors.ErrUnsupported, rank, headerVersion, MaxDim)
}

// checkExtent makes sure that no product of the library overflows: the bytes of a
// chunk padded to whole blocks fit a chunk, those of the array padded to whole
// chunks fit 63 bits, and the chunks can be counted. The other arguments are valid.
func checkExtent(shape []int64, chunks, blocks []int32, typeSize int) error {
	chunkBytes, nchunks := int64(typeSize), int64(1)
	empty := slices.Contains(shape, 0)
	for i, n := range shape {
		c, b := int64(chunks[i]), int64(blocks[i])
		padded := (c + b - 1) / b * b
		if padded > maxBuffer/chunkBytes {
			return fmt.Errorf("%w: a chunk %v in blocks %v of %d-byte elements has more than %d bytes", ErrLimit, chunks, blocks, typeSize, maxBuffer)
		}
		chunkBytes *= padded
		if n > math.MaxInt64-c || (n+c-1)/c > math.MaxInt32 {
			return fmt.Errorf("%w: shape[%d] = %d is more than %d chunks of %d", ErrLimit, i, n, math.MaxInt32, c)
		}
		if empty {
			continue
		}
		if nchunks *= (n + c - 1) / c; nchunks > maxBuffer/8 {
			return fmt.Errorf("%w: shape %v in chunks %v is more than %d chunks", ErrLimit, shape, chunks, maxBuffer/8)
		}
	}
	if nchunks > math.MaxInt64/chunkBytes {
		return fmt.Errorf("%w: shape %v in chunks %v has more than 2^63-1 bytes", ErrLimit, shape, chunks)
	}
	return nil
}

// OpenArray opens an array: a file or a sparse directory with a b2nd or a Caterva
// metalayer (b2nd_open). The file is checked in Go first; each chunk is when it
// is touched the first time.
//
// It returns the errors of OpenSChunk, and errors.ErrUnsupported for more
// dimensions than MaxDim.
func OpenArray(path string) (*Array, error) {
	const op = "open array"
	a := new(Array)
	s, err := openSChunk(op, path, a)
	if err != nil {
		return nil, err
	}
	return a.on(op, s)
}

// OpenArrayBytes opens an array in memory from the bytes of a contiguous frame
// (b2nd_from_cframe). b is copied.
func OpenArrayBytes(b []byte) (*Array, error) {
	const op = "open array"
	a := new(Array)
	s, err := openSChunkBytes(op, b, a)
	if err != nil {
		return nil, err
	}
	return a.on(op, s)
}

// on makes a the array of the open super-chunk s, or closes s.
func (a *Array) on(op string, s *SChunk) (*Array, error) {
	var cerr C.goblosc2_err_t
	var dtype *C.char
	if C.goblosc2_array_from_schunk(&cerr, s.h.c, &a.geometry, &dtype) < 0 {
		return nil, errors.Join(failed(op, s.path, &cerr), s.Close())
	}
	a.sc = s
	a.rank = int(a.geometry.ndim)
	a.dtype = C.GoString(dtype)
	return a, nil
}

// Shape returns the elements in each dimension.
func (a *Array) Shape() []int64 {
	a.sc.h.mu.Lock()
	defer a.sc.h.mu.Unlock()
	shape := make([]int64, a.rank)
	for i := range shape {
		shape[i] = int64(a.geometry.shape[i])
	}
	return shape
}

// Chunks returns the elements of a chunk in each dimension.
func (a *Array) Chunks() []int32 { return dims(a.geometry.chunks[:a.rank]) }

// Blocks returns the elements of a block in each dimension.
func (a *Array) Blocks() []int32 { return dims(a.geometry.blocks[:a.rank]) }

func dims(c []C.int32_t) []int32 {
	d := make([]int32, len(c))
	for i := range d {
		d[i] = int32(c[i])
	}
	return d
}

// DType returns the element type as stored, normally as NumPy writes it: "<f8".
// A Caterva array has none: "".
func (a *Array) DType() string { return a.dtype }

// ItemSize returns the bytes of an element.
func (a *Array) ItemSize() int { return a.sc.TypeSize() }

// SChunk returns the super-chunk of the array. It is the same owner: closing one
// closes the other. Its chunks are those of the array in row-major order; they can
// be updated but not appended, inserted or deleted.
func (a *Array) SChunk() *SChunk { return a.sc }

// Path returns the file or directory, "" for memory.
func (a *Array) Path() string { return a.sc.path }

// Bytes returns the array as a contiguous frame (b2nd_to_cframe).
func (a *Array) Bytes() ([]byte, error) { return a.sc.Bytes() }

// Close frees the array (b2nd_free). What is on disk was written by each call
// before. A second Close returns ErrClosed.
func (a *Array) Close() error { return a.sc.Close() }

// region is a checked region as the library takes it.
type region struct {
	start, stop, shape [maxDims]C.int64_t
	nbytes             int64
}

// regionLocked checks that the region is inside the array and that buf has its
// length.
func (a *Array) regionLocked(start, shape []int64, buf int) (r region, err error) {
	if len(start) != a.rank || len(shape) != a.rank {
		return r, fmt.Errorf("%w: start of %d dimensions and shape of %d in an array of %d", ErrRegion, len(start), len(shape), a.rank)
	}
	r.nbytes = int64(a.sc.facts.typesize)
	for i := range start {
		n := int64(a.geometry.shape[i])
		if start[i] < 0 || shape[i] < 0 || start[i] > n || shape[i] > n-start[i] {
			return r, fmt.Errorf("%w: start %v shape %v of an array of %v", ErrRegion, start, shape, a.geometry.shape[:a.rank])
		}
		r.start[i], r.stop[i], r.shape[i] = C.int64_t(start[i]), C.int64_t(start[i]+shape[i]), C.int64_t(shape[i])
		r.nbytes *= shape[i] // at most the bytes of the array
	}
	if int64(buf) != r.nbytes {
		return r, fmt.Errorf("%w: buffer of %d bytes, region of %d", ErrSize, buf, r.nbytes)
	}
	return r, nil
}

// ReadRegion fills dst with the elements from start, shape[i] in each dimension,
// in row-major order and the byte order of storage (b2nd_get_slice_cbuffer).
//
// len(dst) must be shape[0]×…×shape[n-1]×ItemSize bytes. Chunks that the region
// touches are decompressed as far as its blocks need it; behind the filter Delta,
// and where the region is one chunk, it may be whole chunks, in memory of their own.
//
// It returns ErrRegion, ErrSize, ErrFormat if a stored chunk is not valid,
// ErrClosed, ErrBroken, or an *Error from the library.
func (a *Array) ReadRegion(dst []byte, start, shape []int64) error {
	const op = "read region"
	if err := a.sc.h.lock(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	r, err := a.regionLocked(start, shape, len(dst))
	if err == nil {
		err = a.checkStoredRegion(&r)
	}
	if err != nil {
		return refused(op, a.sc.path, err)
	}
	if len(dst) == 0 {
		return nil
	}
	return a.readLocked(op, dst, &r)
}

// WriteRegion replaces the elements from start, shape[i] in each dimension, with
// src (b2nd_set_slice_cbuffer).
//
// src holds them in row-major order and the byte order of storage;
// its length must be shape[0]×…×shape[n-1]×ItemSize bytes. Chunks that the region
// covers only in part are read, changed and compressed again. In a contiguous
// frame the old chunks' bytes stay in the file.
//
// It returns ErrRegion, ErrSize, ErrFormat if a stored chunk is not valid,
// ErrClosed, ErrBroken, or an *Error from the library.
func (a *Array) WriteRegion(src []byte, start, shape []int64) error {
	const op = "write region"
	if err := a.sc.h.lock(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	r, err := a.regionLocked(start, shape, len(src))
	if err == nil {
		err = a.checkStoredRegion(&r)
	}
	if err != nil {
		return refused(op, a.sc.path, err)
	}
	if len(src) == 0 {
		return nil
	}
	return a.writeLocked(op, src, &r)
}

// Resize changes the shape at the far end of each dimension (b2nd_resize). Chunk
// by chunk the library writes its index again, so many small steps are slow.
//
// New elements are zero, except that those which a smaller shape cut off inside a
// chunk, by whatever program, come back as they were: write zeros over them before
// or after where that matters.
//
// It returns ErrParam, ErrLimit, errors.ErrUnsupported for a Caterva array,
// ErrClosed, ErrBroken, or an *Error from the library.
func (a *Array) Resize(shape []int64) error {
	const op = "resize"
	if err := a.sc.h.lock(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	if err := a.canResize(shape); err != nil {
		return refused(op, a.sc.path, err)
	}
	var to [maxDims]C.int64_t
	for i, n := range shape {
		to[i] = C.int64_t(n)
	}
	if to == a.geometry.shape {
		return nil
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_resize(&cerr, a.sc.h.c, &to[0], &a.sc.facts) < 0 {
		return a.sc.h.breakOn(failed(op, a.sc.path, &cerr))
	}
	a.geometry.shape = to
	return nil
}

func (a *Array) canResize(shape []int64) error {
	switch {
	case a.caterva:
		// The library would fail half-way, with chunks inserted and the shape not written.
		return fmt.Errorf("%w: resizing a Caterva array", errors.ErrUnsupported)
	case len(shape) != a.rank:
		return fmt.Errorf("%w: shape of %d dimensions for an array of %d", ErrParam, len(shape), a.rank)
	}
	for i, n := range shape {
		if n < 0 {
			return fmt.Errorf("%w: shape[%d] = %d, want ≥ 0", ErrParam, i, n)
		}
		if a.geometry.chunks[i] == 0 {
			// Others store this for an empty dimension; the library would divide by it.
			return fmt.Errorf("%w: resizing an array with chunks of 0 elements", errors.ErrUnsupported)
		}
	}
	if err := checkExtent(shape, a.Chunks(), a.Blocks(), int(a.sc.facts.typesize)); err != nil {
		return err
	}
	return a.sc.checkStored(0, int64(a.sc.facts.nchunks))
}
