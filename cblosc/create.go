// Creation of arrays: zeros, one value, and given data.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// ArrayParams describes an array to create. All shapes must have the same rank.
type ArrayParams struct {
	Shape      []int64     // elements in each dimension, ≥ 0; empty for a scalar
	ChunkShape []int32     // elements of a chunk in each dimension, ≥ 1
	Blocks     []int32     // elements of a block in each dimension, 1 to Chunks
	DType      string      // in NumPy syntax, stored verbatim and not parsed: "<f8", or a list of fields; "" stores "|S" and the type size
	Storage    Storage     // CParams.TypeSize is the size of an element; CParams.BlockSize follows from Blocks
	Meta       []Metalayer // fixed metalayers in addition to the array's own, at most 15
}

// CreateArray creates an array of zeros (b2nd_zeros). It does not overwrite existing files. A
// creation that fails in the library may leave an incomplete file.
//
// It returns ErrParam; ErrLimit for a chunk above 2 GiB
// minus 32 bytes, an array above 2^63-1 bytes or more than 15 metalayers; errors.ErrUnsupported for
// more than MaxDim dimensions; ErrExists; fs.ErrNotExist if the parent directory is missing; or an
// *Error from the library.
func CreateArray(p *ArrayParams) (*Array, error) {
	return create("create array", p, C.GOBLOSC2_ZEROS, nil)
}

// CreateArrayOf creates an array in which every element has the same value. The elements take no
// space. kind must be one of:
//   - Zeros
//   - NaNs, for elements of 4 or 8 bytes (b2nd_nans)
//   - Repeated, for value, which must be one element (b2nd_full)
//   - Uninit, for uninitialised elements (b2nd_uninit)
//
// It returns the errors of CreateArray, and ErrSize for a value of another length.
func CreateArrayOf(p *ArrayParams, kind Special, value []byte) (*Array, error) {
	const op = "create array"
	cp, err := p.Storage.CParams.orDefault()
	if err != nil {
		return nil, refused(op, p.Storage.Path, err)
	}
	how, ok := map[Special]C.int32_t{Zeros: C.GOBLOSC2_ZEROS, NaNs: C.GOBLOSC2_NANS, Uninit: C.GOBLOSC2_UNINIT, Repeated: C.GOBLOSC2_FULL}[kind]
	want := 0
	if kind == Repeated {
		want = cp.TypeSize
	}
	switch {
	case !ok:
		err = fmt.Errorf("%w: special value %d", ErrParam, int(kind))
	case len(value) != want:
		err = fmt.Errorf("%w: a value of %d bytes, want %d", ErrSize, len(value), want)
	case kind == NaNs && cp.TypeSize != 4 && cp.TypeSize != 8:
		err = fmt.Errorf("%w: TypeSize = %d, want 4 or 8 for NaN", ErrParam, cp.TypeSize)
	}
	if err != nil {
		return nil, refused(op, p.Storage.Path, err)
	}
	return create(op, p, how, value)
}

// CreateArrayFrom creates an array from data, which must hold all elements in row-major order and
// in the byte order of DType (b2nd_from_cbuffer). It returns the errors of CreateArray, and
// ErrSize.
func CreateArrayFrom(p *ArrayParams, data []byte) (*Array, error) {
	const op = "create array"
	if err := p.validate(); err != nil {
		return nil, refused(op, p.Storage.Path, err)
	}
	cp, _ := p.Storage.CParams.orDefault()
	want, ok := int64(cp.TypeSize), true
	for _, n := range p.Shape {
		want, ok = want*n, ok && (n == 0 || want <= math.MaxInt64/n)
	}
	if slices.Contains(p.Shape, 0) {
		want, ok = 0, true
	}
	if !ok || int64(len(data)) != want {
		return nil, refused(op, p.Storage.Path, fmt.Errorf("%w: %d bytes for an array of shape %v and %d-byte elements", ErrSize, len(data), p.Shape, cp.TypeSize))
	}
	if len(data) == 0 {
		return create(op, p, C.GOBLOSC2_EMPTY, nil)
	}
	if !cp.guarded() {
		return create(op, p, C.GOBLOSC2_DATA, data)
	}
	a, err := create(op, p, C.GOBLOSC2_ZEROS, nil)
	if err == nil {
		err = a.WriteRegion(data, make([]int64, a.rank), p.Shape)
	}
	if err != nil && a != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, err
}

// create creates an array of the kind how, with value.
func create(op string, p *ArrayParams, how C.int32_t, value []byte) (*Array, error) {
	s := p.Storage
	path, err := s.place()
	if err != nil {
		return nil, refused(op, s.Path, err)
	}
	if err := p.validate(); err != nil {
		return nil, refused(op, s.Path, err)
	}
	a := p.array(path)
	cp, _ := s.CParams.orDefault()
	k := s.hooks()
	params, where := cp.toC(), s.where(k)
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
	if C.goblosc2_array_new(&cerr, cPath(path), &where, &params, &a.geometry, cString(a.dtype),
		C.int32_t(len(p.Meta)), (*C.uint8_t)(unsafe.SliceData(names)), (*C.int32_t)(unsafe.SliceData(lengths)),
		(*C.uint8_t)(unsafe.SliceData(contents)), how, (*C.uint8_t)(unsafe.SliceData(value)), C.int64_t(len(value)), &c, &a.sc.facts) < 0 {
		return nil, k.abandon(failed(op, path, &cerr))
	}
	a.sc.h = ownHooked(c, "Array", path, k)
	return a, nil
}

// array returns the array that p describes, without a handle. p must be valid.
func (p *ArrayParams) array(path string) *Array {
	s := &p.Storage
	cp, _ := s.CParams.orDefault()
	a := &Array{dtype: p.DType, rank: len(p.Shape), sc: &SChunk{path: path, allow: s.allow(), framed: s.Contiguous || path != "",
		whole: s.Contiguous, mapping: s.Mapping, array: true, entire: cp.usesDelta()}}
	if a.dtype == "" {
		a.dtype = fmt.Sprintf("|S%d", cp.TypeSize)
	}
	g := &a.geometry
	g.ndim = C.int32_t(len(p.Shape))
	a.sc.block = cp.TypeSize
	for i := range p.Shape {
		g.shape[i], g.chunks[i], g.blocks[i] = C.int64_t(p.Shape[i]), C.int32_t(p.ChunkShape[i]), C.int32_t(p.Blocks[i])
		a.sc.block *= int(p.Blocks[i])
	}
	return a
}

// validate reports every invalid field.
func (p *ArrayParams) validate() error {
	cp, err := p.Storage.CParams.orDefault()
	if err != nil {
		return err
	}
	rank := len(p.Shape)
	if rank > MaxDim {
		return errTooManyDims(rank)
	}
	if len(p.ChunkShape) != rank || len(p.Blocks) != rank {
		return fmt.Errorf("%w: shape of %d dimensions, chunks of %d, blocks of %d", ErrParam, rank, len(p.ChunkShape), len(p.Blocks))
	}
	var errs []error
	bad := func(sentinel error, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{sentinel}, args...)...))
	}
	for i := range p.Shape {
		n, c, b := p.Shape[i], p.ChunkShape[i], p.Blocks[i]
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
		errs = append(errs, checkExtent(p.Shape, p.ChunkShape, p.Blocks, cp.TypeSize))
	}
	return errors.Join(errs...)
}

func errTooManyDims(rank int) error {
	return fmt.Errorf("%w: dimensions: got %d, want at most %d", errors.ErrUnsupported, rank, MaxDim)
}

// checkExtent prevents overflows in the library. A chunk padded to whole blocks must fit into a
// chunk, and the array padded to whole chunks must fit into 63 bits. The number of chunks is
// limited too. The other arguments must be valid.
func checkExtent(shape []int64, chunks, blocks []int32, typeSize int) error {
	chunkBytes, nchunks := int64(typeSize), int64(1)
	empty := slices.Contains(shape, 0)
	for i, n := range shape {
		c, b := int64(chunks[i]), int64(blocks[i])
		padded := grid.DivUp(c, b) * b
		if padded > maxBuffer/chunkBytes {
			return fmt.Errorf("%w: a chunk %v in blocks %v of %d-byte elements has more than %d bytes", ErrLimit, chunks, blocks, typeSize, maxBuffer)
		}
		chunkBytes *= padded
		if n > math.MaxInt64-c || grid.DivUp(n, c) > math.MaxInt32 {
			return fmt.Errorf("%w: shape[%d] = %d is more than %d chunks of %d", ErrLimit, i, n, math.MaxInt32, c)
		}
		if empty {
			continue
		}
		if nchunks *= grid.DivUp(n, c); nchunks > maxBuffer/8 {
			return fmt.Errorf("%w: shape %v in chunks %v is more than %d chunks", ErrLimit, shape, chunks, maxBuffer/8)
		}
	}
	if nchunks > math.MaxInt64/chunkBytes {
		return fmt.Errorf("%w: shape %v in chunks %v has more than 2^63-1 bytes", ErrLimit, shape, chunks)
	}
	return nil
}
