// Array metalayers encoded and decoded by the library, a description of an array, and copies of
// boxes.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_meta_encode
// #cgo nocallback goblosc2_meta_encode
// #cgo noescape goblosc2_meta_decode
// #cgo nocallback goblosc2_meta_decode
// #cgo noescape goblosc2_copy_box
// #cgo nocallback goblosc2_copy_box
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// EncodeArrayMeta returns the content of the metalayer "b2nd" of an array with these shapes and
// this dtype (b2nd_serialize_meta). It returns ErrParam for shapes of different ranks or a dtype
// with a zero byte, or errors.ErrUnsupported for more than MaxDim dimensions.
func EncodeArrayMeta(shape []int64, chunks, blocks []int32, dtype string) ([]byte, error) {
	const op = "encode metalayer"
	rank := len(shape)
	switch {
	case rank > MaxDim:
		return nil, refused(op, "", errTooManyDims(rank))
	case len(chunks) != rank || len(blocks) != rank:
		return nil, refused(op, "", fmt.Errorf("%w: shape of %d dimensions, chunks of %d, blocks of %d", ErrParam, rank, len(chunks), len(blocks)))
	case strings.IndexByte(dtype, 0) >= 0:
		return nil, refused(op, "", fmt.Errorf("%w: dtype %q holds a zero byte", ErrParam, dtype))
	}
	g := C.goblosc2_geometry_t{ndim: C.int32_t(rank)}
	for i := range shape {
		g.shape[i], g.chunks[i], g.blocks[i] = C.int64_t(shape[i]), C.int32_t(chunks[i]), C.int32_t(blocks[i])
	}
	var cerr C.goblosc2_err_t
	var p *C.uint8_t
	n := C.goblosc2_meta_encode(&cerr, &g, cString(dtype), &p)
	if n < 0 {
		return nil, failed(op, "", &cerr)
	}
	return takeBytes(p, C.int64_t(n), true), nil
}

// DecodeArrayMeta decodes the content of a metalayer "b2nd" or, if caterva is set, "caterva"
// (b2nd_deserialize_meta). Package guard checks the content first because the library does not. It
// returns ErrFormat, or errors.ErrUnsupported for more than MaxDim dimensions.
func DecodeArrayMeta(b []byte, caterva bool) (shape []int64, chunks, blocks []int32, dtype string, err error) {
	const op = "decode metalayer"
	rank, err := guard.ArrayMeta(b, caterva)
	if err != nil {
		return nil, nil, nil, "", refused(op, "", invalid(err))
	}
	if rank > MaxDim {
		return nil, nil, nil, "", refused(op, "", errTooManyDims(rank))
	}
	var cerr C.goblosc2_err_t
	var g C.goblosc2_geometry_t
	var text *C.char
	if C.goblosc2_meta_decode(&cerr, (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(len(b)), &g, &text) < 0 {
		return nil, nil, nil, "", failed(op, "", &cerr)
	}
	dtype = C.GoString(text)
	C.goblosc2_release(unsafe.Pointer(text))
	shape = make([]int64, g.ndim)
	for i := range shape {
		shape[i] = int64(g.shape[i])
	}
	return shape, dims(g.chunks[:g.ndim]), dims(g.blocks[:g.ndim]), dtype, nil
}

// String describes the array in one line: shape, chunks, blocks, dtype, bytes and parameters.
func (a *Array) String() string {
	kind := "b2nd"
	if a.caterva {
		kind = "Caterva"
	}
	s := fmt.Sprintf("%s array %v", kind, a.Shape())
	if a.rank > 0 {
		s += fmt.Sprintf(" in chunks %v of blocks %v", a.ChunkShape(), a.Blocks())
	}
	if a.dtype != "" {
		s += fmt.Sprintf(", dtype %q", a.dtype)
	}
	s += fmt.Sprintf(", %d bytes an element, %d of %d bytes compressed", a.ItemSize(), a.sc.CBytes(), a.sc.NBytes())
	if p, err := a.sc.CParams(); err == nil {
		s += ", " + p.String()
	}
	return s
}

// Box is a buffer of n dimensions in row-major order, and a start index in it.
type Box struct {
	Data  []byte
	Shape []int64 // number of elements of the buffer in each dimension
	Start []int64 // index of the first element of the box
}

// CopyBox copies shape elements of itemSize bytes from one buffer to another, each at its Start
// (b2nd_copy_buffer2). The buffers must not overlap.
//
// It returns ErrParam for an itemSize below 1, errors.ErrUnsupported for more than MaxDim
// dimensions, ErrSize for a buffer whose length does not match its shape, or ErrRegion.
func CopyBox(dst, src Box, shape []int64, itemSize int) error {
	const op = "copy box"
	if itemSize < 1 || itemSize > maxTypeSize {
		return refused(op, "", fmt.Errorf("%w: elements of %d bytes, want 1 to %d", ErrParam, itemSize, maxTypeSize))
	}
	if len(shape) > MaxDim {
		return refused(op, "", errTooManyDims(len(shape)))
	}
	for _, b := range []Box{dst, src} {
		if err := b.check(shape, itemSize); err != nil {
			return refused(op, "", err)
		}
	}
	if len(shape) == 0 {
		copy(dst.Data, src.Data)
		return nil
	}
	stop := make([]int64, len(shape))
	for i, n := range shape {
		if n == 0 {
			return nil
		}
		stop[i] = src.Start[i] + n
	}
	var cerr C.goblosc2_err_t
	i64 := func(s []int64) *C.int64_t { return (*C.int64_t)(unsafe.SliceData(s)) }
	if C.goblosc2_copy_box(&cerr, C.int32_t(len(shape)), C.int32_t(itemSize), (*C.uint8_t)(unsafe.SliceData(src.Data)), i64(src.Shape), i64(src.Start), i64(stop),
		(*C.uint8_t)(unsafe.SliceData(dst.Data)), i64(dst.Shape), i64(dst.Start)) < 0 {
		return failed(op, "", &cerr)
	}
	return nil
}

// check verifies that the length of the buffer matches its shape, and that the box is inside it.
func (b *Box) check(shape []int64, itemSize int) error {
	if len(b.Shape) != len(shape) || len(b.Start) != len(shape) {
		return fmt.Errorf("%w: buffer of %d dimensions, start of %d, box of %d", ErrRegion, len(b.Shape), len(b.Start), len(shape))
	}
	want, most := int64(itemSize), int64(len(b.Data))
	for i, n := range b.Shape {
		if n < 0 || b.Start[i] < 0 || shape[i] < 0 || b.Start[i] > n || shape[i] > n-b.Start[i] {
			return fmt.Errorf("%w: box %v at %v of %v", ErrRegion, shape, b.Start, b.Shape)
		}
		if n > 0 && want > most/n {
			return fmt.Errorf("%w: buffer of %d bytes for shape %v of %d-byte elements", ErrSize, most, b.Shape, itemSize)
		}
		want *= n
	}
	if want != most {
		return fmt.Errorf("%w: buffer of %d bytes, shape %v of %d-byte elements has %d", ErrSize, most, b.Shape, itemSize, want)
	}
	return nil
}
