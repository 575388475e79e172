// Changes of an array's shape: growing, shrinking, inserting and deleting along a dimension.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// Resize changes the shape at the end of each dimension (b2nd_resize). New elements are zero. The
// library rewrites its index for each chunk, so many small steps are slow.
//
// A smaller shape leaves the removed elements in chunks that are still stored, whichever program
// shrank the array. They are zeroed when the array grows over them. If the program is killed
// between growing and zeroing, they stay.
//
// It returns ErrParam, ErrLimit, ErrReadOnly, errors.ErrUnsupported for a Caterva array, ErrClosed,
// ErrBroken, or an *Error from the library.
func (a *Array) Resize(shape []int64) error {
	const op = "resize"
	if err := a.sc.h.lockWrite(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	if err := a.canResize(shape); err != nil {
		return refused(op, a.sc.path, err)
	}
	if err := a.sc.checkOrderLocked(op); err != nil { // zeros may be written
		return err
	}
	return a.resizeLocked(op, shape, nil, true)
}

// resizeLocked sets a shape that canResize accepts. Chunks are inserted or removed at start, or at
// the end of each dimension if start is nil. If zero is set, it zeroes new elements in chunks that
// may hold old ones. Callers that write all new elements do not need that.
func (a *Array) resizeLocked(op string, shape []int64, start *[maxDims]C.int64_t, zero bool) error {
	from := a.geometry.shape
	to := from
	for i, n := range shape {
		to[i] = C.int64_t(n)
	}
	if to == from {
		return nil
	}
	var at *C.int64_t
	if start != nil {
		at = &start[0]
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_resize(&cerr, a.sc.h.c, &to[0], at, &a.sc.facts) < 0 {
		return a.sc.h.breakOn(a.sc.h.failed(op, &cerr))
	}
	a.geometry.shape = to
	if !zero || a.sc.facts.nchunks == 0 {
		return nil
	}
	for i := range a.rank {
		// Old elements can remain between the old end and the end of its chunk.
		chunk := C.int64_t(a.geometry.chunks[i])
		end := grid.RoundUp(from[i], chunk, to[i])
		if from[i] >= end {
			continue
		}
		r := region{stop: to, shape: to}
		r.start[i], r.stop[i], r.shape[i] = from[i], end, end-from[i]
		if err := a.zeroLocked(op, &r); err != nil {
			return err
		}
	}
	return nil
}

// zeroLocked sets all elements of r to zero. r must not be empty.
func (a *Array) zeroLocked(op string, r *region) error {
	return a.eachPart(r, func(part *region) error {
		b := make([]byte, part.nbytes)
		if err := a.readLocked(op, b, part); err != nil {
			return a.sc.h.breakOn(err)
		}
		dirty := false
		for i := range b {
			if b[i] != 0 {
				dirty, b[i] = true, 0
			}
		}
		if !dirty {
			return nil
		}
		return a.writeLocked(op, b, part)
	})
}

// eachPart calls f for the part of r in each chunk. r must not be empty.
func (a *Array) eachPart(r *region, f func(part *region) error) error {
	return a.eachChunk(r, func(_ int64, origin *[maxDims]int64) error {
		part := region{nbytes: int64(a.sc.facts.typesize)}
		for i := range a.rank {
			part.start[i] = max(r.start[i], C.int64_t(origin[i]))
			part.stop[i] = min(r.stop[i], C.int64_t(origin[i])+C.int64_t(a.geometry.chunks[i]))
			part.shape[i] = part.stop[i] - part.start[i]
			part.nbytes *= int64(part.shape[i])
		}
		return f(&part)
	})
}

func (a *Array) canResize(shape []int64) error {
	switch {
	case a.caterva:
		// The library would fail half-way, after inserting chunks and before writing the shape.
		return fmt.Errorf("%w: resizing a Caterva array", errors.ErrUnsupported)
	case len(shape) != a.rank:
		return fmt.Errorf("%w: shape of %d dimensions for an array of %d", ErrParam, len(shape), a.rank)
	}
	for i, n := range shape {
		if n < 0 {
			return fmt.Errorf("%w: shape[%d] = %d, want ≥ 0", ErrParam, i, n)
		}
		if a.geometry.chunks[i] == 0 {
			// Other programs store 0 for an empty dimension, and the library would divide by it.
			return fmt.Errorf("%w: resizing an array with chunks of 0 elements", errors.ErrUnsupported)
		}
	}
	if err := checkExtent(shape, a.ChunkShape(), a.Blocks(), int(a.sc.facts.typesize)); err != nil {
		return err
	}
	return a.sc.checkStored(0, int64(a.sc.facts.nchunks))
}

// grownLocked checks that n bytes are whole rows of the dimension axis. It returns the number of
// rows and the shape including them.
func (a *Array) grownLocked(axis, n int) (rows int64, shape []int64, err error) {
	if axis < 0 || axis >= a.rank {
		return 0, nil, fmt.Errorf("%w: dimension %d of %d", ErrParam, axis, a.rank)
	}
	row := int64(a.sc.facts.typesize)
	shape = make([]int64, a.rank)
	for i := range shape {
		if shape[i] = int64(a.geometry.shape[i]); i != axis {
			row *= shape[i] // at most the bytes of the array, or 0
		}
	}
	switch {
	case row == 0 && n != 0, row != 0 && int64(n)%row != 0:
		return 0, nil, fmt.Errorf("%w: %d bytes, want a multiple of %d, one element of dimension %d", ErrSize, n, row, axis)
	case row == 0:
		return 0, shape, nil
	}
	rows = int64(n) / row
	if shape[axis] > math.MaxInt64-rows {
		return 0, nil, fmt.Errorf("%w: %d elements more than %d in dimension %d", ErrLimit, rows, shape[axis], axis)
	}
	shape[axis] += rows
	return rows, shape, a.canResize(shape)
}

// Append appends src to the array along the dimension axis (b2nd_append, b2nd_insert). src must
// hold whole rows of that dimension, which have the array's length in all other dimensions, in
// row-major order.
//
// It returns ErrParam, ErrSize, ErrLimit, ErrReadOnly, errors.ErrUnsupported for a Caterva array,
// ErrClosed, ErrBroken, or an *Error from the library.
func (a *Array) Append(axis int, src []byte) error {
	return a.insert("append", src, axis, func(n int64) int64 { return n })
}

// Insert inserts src before index at of the dimension axis (b2nd_insert); src is as for Append.
// Chunks are not split: except at the end of the dimension, at and the number of rows must be
// multiples of the chunk length, or Insert returns ErrParam. Its other errors are those of Append,
// and ErrRegion.
func (a *Array) Insert(axis int, at int64, src []byte) error {
	return a.insert("insert", src, axis, func(int64) int64 { return at })
}

func (a *Array) insert(op string, src []byte, axis int, where func(end int64) int64) error {
	if err := a.sc.h.lockWrite(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	rows, shape, err := a.grownLocked(axis, len(src))
	if err != nil {
		return refused(op, a.sc.path, err)
	}
	old := int64(a.geometry.shape[axis])
	at, chunk := where(old), int64(a.geometry.chunks[axis])
	switch {
	case at < 0 || at > old:
		err = fmt.Errorf("%w: position %d of %d in dimension %d", ErrRegion, at, old, axis)
	case at < old && (at%chunk != 0 || rows%chunk != 0):
		err = fmt.Errorf("%w: inserting %d at %d of dimension %d, want multiples of its chunks of %d", ErrParam, rows, at, axis, chunk)
	}
	if err != nil {
		return refused(op, a.sc.path, err)
	}
	if rows == 0 {
		return nil
	}
	if err := a.sc.checkOrderLocked(op); err != nil {
		return err
	}
	var cerr C.goblosc2_err_t
	p, n := (*C.uint8_t)(unsafe.SliceData(src)), C.int64_t(len(src))
	rc := C.int(0)
	switch {
	case a.sc.facts.nchunks == 0 || a.sc.facts.guarded != 0:
		return a.insertLocked(op, src, shape, axis, at)
	case at == old && a.appendsChunk(axis, len(src)):
		rc = C.goblosc2_array_append(&cerr, a.sc.h.c, p, n, C.int32_t(axis), &a.sc.facts)
	default:
		rc = C.goblosc2_array_insert(&cerr, a.sc.h.c, p, n, C.int32_t(axis), C.int64_t(at), &a.sc.facts)
	}
	if rc < 0 {
		return a.sc.h.breakOn(a.sc.h.failed(op, &cerr))
	}
	a.geometry.shape[axis] += C.int64_t(rows)
	return nil
}

// appendsChunk reports whether n bytes appended along the dimension axis are exactly one chunk as
// stored. b2nd_append checks neither the shape, nor padding, nor the last chunk.
func (a *Array) appendsChunk(axis, n int) bool {
	g := &a.geometry
	if axis != 0 || n != int(a.sc.facts.chunksize) || g.shape[0] == 0 ||
		g.shape[0]%C.int64_t(g.chunks[0]) != 0 || g.chunks[0]%g.blocks[0] != 0 {
		return false
	}
	for i := 1; i < a.rank; i++ {
		if g.chunks[i] != g.blocks[i] || g.shape[i] != C.int64_t(g.chunks[i]) {
			return false
		}
	}
	return true
}

// insertLocked resizes the array and writes the new elements.
func (a *Array) insertLocked(op string, src []byte, shape []int64, axis int, at int64) error {
	var start *[maxDims]C.int64_t
	if at < int64(a.geometry.shape[axis]) {
		start = new([maxDims]C.int64_t)
		start[axis] = C.int64_t(at)
	}
	rows := C.int64_t(shape[axis]) - a.geometry.shape[axis]
	if err := a.resizeLocked(op, shape, start, false); err != nil {
		return err
	}
	r := region{stop: a.geometry.shape, shape: a.geometry.shape, nbytes: int64(len(src))}
	r.start[axis], r.stop[axis], r.shape[axis] = C.int64_t(at), C.int64_t(at)+rows, rows
	return a.writeLocked(op, src, &r)
}

// Delete removes n rows from index at of the dimension axis (b2nd_delete). Chunks are not split:
// except at the end of the dimension, at and n must be multiples of the chunk length, or Delete
// returns ErrParam.
//
// It also returns ErrRegion, ErrReadOnly, errors.ErrUnsupported for a Caterva array, ErrClosed,
// ErrBroken, or an *Error from the library.
func (a *Array) Delete(axis int, at, n int64) error {
	const op = "delete"
	if err := a.sc.h.lockWrite(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	if err := a.canDelete(axis, at, n); err != nil {
		return refused(op, a.sc.path, err)
	}
	if n == 0 {
		return nil
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_delete(&cerr, a.sc.h.c, C.int32_t(axis), C.int64_t(at), C.int64_t(n), &a.sc.facts) < 0 {
		return a.sc.h.breakOn(a.sc.h.failed(op, &cerr))
	}
	a.geometry.shape[axis] -= C.int64_t(n)
	return nil
}

func (a *Array) canDelete(axis int, at, n int64) error {
	if axis < 0 || axis >= a.rank {
		return fmt.Errorf("%w: dimension %d of %d", ErrParam, axis, a.rank)
	}
	shape := make([]int64, a.rank)
	for i := range shape {
		shape[i] = int64(a.geometry.shape[i])
	}
	old, chunk := shape[axis], int64(a.geometry.chunks[axis])
	if at < 0 || n < 0 || at > old || n > old-at {
		return fmt.Errorf("%w: %d elements from %d on of %d in dimension %d", ErrRegion, n, at, old, axis)
	}
	shape[axis] -= n
	if err := a.canResize(shape); err != nil {
		return err
	}
	if at+n < old && (at%chunk != 0 || n%chunk != 0) {
		return fmt.Errorf("%w: deleting %d at %d of dimension %d, want multiples of its chunks of %d", ErrParam, n, at, axis, chunk)
	}
	return nil
}
