// Multidimensional arrays (b2nd and Caterva): opening, properties and regions.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
)

// MaxDim is the maximum number of dimensions of the linked library (B2ND_MAX_DIM): 16.
const MaxDim = C.B2ND_MAX_DIM

// maxDims is the maximum number of dimensions of any supported release.
const maxDims = C.GOBLOSC2_MAX_DIM

// Array is an array of elements of one size, stored in chunks.
type Array struct {
	sc    *SChunk
	dtype string
	rank  int
	// Guarded by the handle's mutex.
	geometry C.goblosc2_geometry_t
	caterva  bool
}

// OpenArray opens an array: a file or a sparse directory with a b2nd or a Caterva metalayer
// (b2nd_open). The file is checked in Go first. Each chunk is checked when it is used for the first
// time.
//
// It returns the errors of OpenSChunk, and errors.ErrUnsupported for more than MaxDim dimensions.
func OpenArray(path string) (*Array, error) { return OpenArrayWith(path, OpenOptions{}) }

// OpenArrayWith is OpenArray with options (b2nd_open_offset). It returns the errors of
// OpenSChunkWith and OpenArray.
func OpenArrayWith(path string, o OpenOptions) (*Array, error) {
	return openArray(path, o)
}

func openArray(path string, o OpenOptions) (*Array, error) {
	const op = "open array"
	a := new(Array)
	s, err := openSChunk(op, path, o, a)
	if err != nil {
		return nil, err
	}
	return a.on(op, s)
}

// OpenArrayBytes opens an array in memory from a copy of the contiguous frame b (b2nd_from_cframe).
func OpenArrayBytes(b []byte) (*Array, error) {
	const op = "open array"
	a := new(Array)
	s, err := openSChunkBytes(op, b, Allow{}, a)
	if err != nil {
		return nil, err
	}
	return a.on(op, s)
}

// on makes a the array of the open super-chunk s. On failure it closes s.
func (a *Array) on(op string, s *SChunk) (*Array, error) {
	var cerr C.goblosc2_err_t
	var dtype *C.char
	if C.goblosc2_array_from_schunk(&cerr, s.h.c, &a.geometry, &dtype) < 0 {
		return nil, errors.Join(s.h.failed(op, &cerr), s.Close())
	}
	a.sc = s
	a.rank = int(a.geometry.ndim)
	a.dtype = C.GoString(dtype)
	return a, nil
}

// Shape returns the number of elements in each dimension.
func (a *Array) Shape() []int64 {
	a.sc.h.mu.Lock()
	defer a.sc.h.mu.Unlock()
	shape := make([]int64, a.rank)
	for i := range shape {
		shape[i] = int64(a.geometry.shape[i])
	}
	return shape
}

// ChunkShape returns the number of elements of a chunk in each dimension.
func (a *Array) ChunkShape() []int32 { return dims(a.geometry.chunks[:a.rank]) }

// Blocks returns the number of elements of a block in each dimension.
func (a *Array) Blocks() []int32 { return dims(a.geometry.blocks[:a.rank]) }

func dims(c []C.int32_t) []int32 {
	d := make([]int32, len(c))
	for i := range d {
		d[i] = int32(c[i])
	}
	return d
}

// DType returns the dtype as stored, normally in NumPy syntax, for example "<f8". It is "" for a
// Caterva array, which has no dtype.
func (a *Array) DType() string { return a.dtype }

// ItemSize returns the size of an element in bytes.
func (a *Array) ItemSize() int { return a.sc.TypeSize() }

// SChunk returns the super-chunk of the array. Both have the same owner: closing one closes the
// other. Its chunks are those of the array in row-major order. They can be updated but not
// appended, inserted or deleted.
func (a *Array) SChunk() *SChunk { return a.sc }

// Path returns the file or directory, or "" for an array in memory.
func (a *Array) Path() string { return a.sc.path }

// Bytes returns the array as a contiguous frame (b2nd_to_cframe).
func (a *Array) Bytes() ([]byte, error) { return a.sc.Bytes() }

// Close frees the array (b2nd_free). Each earlier call has already written its changes to disk. A
// second Close returns ErrClosed.
func (a *Array) Close() error { return a.sc.Close() }

// region is a checked region in the form that the library takes.
type region struct {
	start, stop, shape [maxDims]C.int64_t
	nbytes             int64
}

// placeLocked checks that the region is inside the array.
func (a *Array) placeLocked(start, shape []int64) (r region, err error) {
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
	return r, nil
}

// regionLocked also checks that a buffer of n bytes has the length of the region.
func (a *Array) regionLocked(start, shape []int64, n int) (region, error) {
	r, err := a.placeLocked(start, shape)
	if err == nil && int64(n) != r.nbytes {
		err = fmt.Errorf("%w: buffer of %d bytes, region of %d", ErrSize, n, r.nbytes)
	}
	return r, err
}

// ReadRegion fills dst with the elements from start, shape[i] in each dimension, in row-major order
// and in the byte order of storage (b2nd_get_slice_cbuffer).
//
// len(dst) must be shape[0]×…×shape[n-1]×ItemSize bytes. Only the blocks that the region needs are
// decompressed. With the filter Delta, and where the region is one chunk, whole chunks may be
// decompressed into separate memory.
//
// It returns ErrRegion, ErrSize, ErrFormat if a stored chunk is not valid, ErrClosed, ErrBroken, or
// an *Error from the library.
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

// WriteRegion replaces the elements from start, shape[i] in each dimension, with src
// (b2nd_set_slice_cbuffer).
//
// src must hold shape[0]×…×shape[n-1]×ItemSize bytes in row-major order and in the byte order of
// storage. Chunks that the region covers only in part are read, changed and compressed again. In a
// contiguous frame the bytes of the old chunks stay in the file.
//
// It returns ErrRegion, ErrSize, ErrFormat if a stored chunk is not valid, errors.ErrUnsupported
// for an order of filters that CParams.Validate refuses, ErrClosed, ErrBroken, or an *Error from
// the library.
func (a *Array) WriteRegion(src []byte, start, shape []int64) error {
	const op = "write region"
	if err := a.sc.h.lockWrite(op); err != nil {
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
	if err := a.sc.checkOrderLocked(op); err != nil {
		return err
	}
	return a.writeLocked(op, src, &r)
}
