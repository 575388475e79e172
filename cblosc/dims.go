// New arrays with other dimensions: removing or adding dimensions of length 1, and concatenation.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// Squeeze creates an array without the dimensions drop, which must have length 1 (b2nd_squeeze,
// b2nd_squeeze_index). A nil drop means all dimensions of length 1. The array is a copy, without
// the metalayers.
//
// It returns errors.ErrUnsupported for chunks longer than 1 in a dropped dimension, which the
// library handles incorrectly, and for the arrays that ExpandDims rejects; ErrParam for a dimension
// of another length or out of range; and the errors of Copy.
func (a *Array) Squeeze(drop []int, l Layout) (*Array, error) {
	const op = "squeeze"
	shape := a.Shape()
	all := drop == nil
	if all {
		for i, n := range shape {
			if n == 1 {
				drop = append(drop, i)
			}
		}
	}
	for _, i := range drop {
		if i < 0 || i >= len(shape) || shape[i] != 1 {
			return nil, refused(op, a.sc.path, fmt.Errorf("%w: dropping dimension %d of shape %v", ErrParam, i, shape))
		}
	}
	var kept []int
	for i := range shape {
		if !slices.Contains(drop, i) {
			kept = append(kept, i)
		}
	}
	thin := true // whether chunks stay unchanged
	mask := make([]byte, len(shape))
	for _, i := range drop {
		thin = thin && a.ChunkShape()[i] == 1
		mask[i] = 1
	}
	if !thin {
		return nil, refused(op, a.sc.path, fmt.Errorf("%w: dropping dimensions %v of chunks %v", errors.ErrUnsupported, drop, a.ChunkShape()))
	}
	which := (*C.uint8_t)(unsafe.SliceData(mask))
	if all {
		which = nil
	}
	return a.reshape(op, l, keep(shape, kept), keep(a.ChunkShape(), kept), keep(a.Blocks(), kept), func(n *newArray) C.int {
		return C.goblosc2_array_squeeze(&n.cerr, a.sc.h.c, n.path, &n.where, &n.params, &n.geometry, n.dtype, which, &n.c, &n.facts)
	})
}

func keep[T any](all []T, kept []int) []T {
	out := make([]T, len(kept))
	for j, i := range kept {
		out[j] = all[i]
	}
	return out
}

// ExpandDims creates an array with additional dimensions of length 1 (b2nd_expand_dims, which
// copies chunks without recompression). axes are their indices in the new array, in ascending
// order. The array is a copy, without the metalayers.
//
// It returns ErrParam for invalid axes, and the errors of Copy. It returns errors.ErrUnsupported
// for more than MaxDim dimensions, an array without dimensions or chunks, elements above 255 bytes,
// metalayers in addition to the array's own, and for other chunks or blocks in l.
func (a *Array) ExpandDims(axes []int, l Layout) (*Array, error) {
	const op = "expand dimensions"
	rank := a.rank + len(axes)
	var kept []int // index in the new array of each old dimension
	next := 0
	for i := range rank {
		if next < len(axes) && axes[next] == i {
			next++
		} else {
			kept = append(kept, i)
		}
	}
	if next != len(axes) {
		return nil, refused(op, a.sc.path, fmt.Errorf("%w: new dimensions %v of %d", ErrParam, axes, rank))
	}
	shape, chunks, blocks := ones[int64](rank), ones[int32](rank), ones[int32](rank)
	for j, i := range kept {
		shape[i], chunks[i], blocks[i] = int64(a.Shape()[j]), a.ChunkShape()[j], a.Blocks()[j]
	}
	mask := make([]byte, rank)
	for _, i := range axes {
		mask[i] = 1
	}
	view := func(n *newArray) C.int {
		return C.goblosc2_array_expand(&n.cerr, a.sc.h.c, n.path, &n.where, &n.params, &n.geometry, n.dtype, (*C.uint8_t)(unsafe.SliceData(mask)), &n.c, &n.facts)
	}
	return a.reshape(op, l, shape, chunks, blocks, view)
}

func ones[T int32 | int64](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// reshape creates an array from a view of a, which has the same chunks.
func (a *Array) reshape(op string, l Layout, shape []int64, chunks, blocks []int32, view func(*newArray) C.int) (*Array, error) {
	p, err := l.params(a, shape, chunks, blocks)
	var old *CParams
	if err == nil {
		old, err = a.sc.CParams()
	}
	if err == nil && !old.sameChunks(p.Storage.CParams) {
		err = p.Storage.CParams.checkRecompression()
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	plain, err := a.plainLocked()
	switch {
	case err != nil:
	case !plain || a.rank == 0 || len(shape) == 0:
		err = fmt.Errorf("%w: a view of an array without dimensions or chunks, with metalayers, or with elements above %d bytes", errors.ErrUnsupported, maxItem)
	case !slices.Equal(p.ChunkShape, chunks) || !slices.Equal(p.Blocks, blocks):
		err = fmt.Errorf("%w: other chunks and other dimensions in one call", errors.ErrUnsupported)
	default:
		err = a.sc.checkStored(0, int64(a.sc.facts.nchunks))
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	return a.deriveLocked(op, p, view)
}

// plainLocked reports whether the library can make views of the array: it is not empty, its element
// size fits into a chunk header, and it has no additional metalayers.
func (a *Array) plainLocked() (bool, error) {
	if a.caterva || a.sc.facts.nchunks == 0 || a.sc.facts.typesize > maxItem {
		return false, nil
	}
	meta, err := a.sc.Meta().namesLocked()
	if err != nil {
		return false, err
	}
	vl, err := a.sc.VLMeta().namesLocked()
	return len(meta) == 1 && len(vl) == 0, err
}

// Concatenate creates an array that joins several arrays along the dimension axis
// (b2nd_concatenate). Its metalayers are those of the first array, and so are chunks, blocks, dtype
// and parameters that l does not set.
//
// It returns ErrParam for an empty list, an axis out of range, or arrays whose dtype or other
// dimensions differ; and the errors of Copy. It returns errors.ErrUnsupported for arrays that the
// library joins incorrectly: those with other chunks or blocks than the result, without elements,
// or with the filter Delta or a dictionary; and for Caterva arrays.
func Concatenate(axis int, arrays []*Array, l Layout) (*Array, error) {
	const op = "concatenate"
	if len(arrays) == 0 {
		return nil, refused(op, l.Storage.Path, fmt.Errorf("%w: no arrays", ErrParam))
	}
	first := arrays[0]
	shape := first.Shape()
	if axis < 0 || axis >= len(shape) {
		return nil, refused(op, first.sc.path, fmt.Errorf("%w: dimension %d of %d", ErrParam, axis, len(shape)))
	}
	for _, b := range arrays[1:] {
		other := b.Shape()
		same := len(other) == len(shape) && b.ItemSize() == first.ItemSize() && b.dtype == first.dtype
		for i := 0; same && i < len(shape); i++ {
			same = i == axis || other[i] == shape[i]
		}
		if !same {
			return nil, refused(op, b.sc.path, fmt.Errorf("%w: shape %v of %q after %v of %q in dimension %d", ErrParam, other, b.dtype, first.Shape(), first.dtype, axis))
		}
		if shape[axis] += other[axis]; shape[axis] < 0 {
			return nil, refused(op, b.sc.path, fmt.Errorf("%w: more than 2^63-1 elements in dimension %d", ErrLimit, axis))
		}
	}
	p, err := l.params(first, shape, first.ChunkShape(), first.Blocks())
	if err == nil {
		err = p.Storage.CParams.checkRecompression()
	}
	if err != nil {
		return nil, refused(op, first.sc.path, err)
	}
	if p.Storage.CParams.usesDelta() {
		return nil, refused(op, first.sc.path, fmt.Errorf("%w: the filter Delta", errors.ErrUnsupported))
	}
	for _, b := range arrays {
		if !slices.Equal(b.ChunkShape(), p.ChunkShape) || !slices.Equal(b.Blocks(), p.Blocks) {
			// The library would write elements to wrong positions.
			return nil, refused(op, b.sc.path, fmt.Errorf("%w: chunks %v in blocks %v, want %v in %v", errors.ErrUnsupported, b.ChunkShape(), b.Blocks(), p.ChunkShape, p.Blocks))
		}
		simple, err := b.simple(op)
		if err == nil && !simple {
			err = refused(op, b.sc.path, fmt.Errorf("%w: an array without elements, of Caterva, or with the filter Delta or a dictionary", errors.ErrUnsupported))
		}
		if err != nil {
			return nil, err
		}
	}
	d, err := first.Copy(l)
	if err != nil {
		return nil, err
	}
	for _, b := range arrays[1:] {
		if err := d.growBy(op, b, axis); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// simple checks the chunks of a and reports whether the library can read parts of the array
// correctly.
func (a *Array) simple(op string) (bool, error) {
	if err := a.sc.h.lock(op); err != nil {
		return false, err
	}
	defer a.sc.h.mu.Unlock()
	if err := a.sc.checkStored(0, int64(a.sc.facts.nchunks)); err != nil {
		return false, refused(op, a.sc.path, err)
	}
	return !a.caterva && !a.sc.entire && !slices.Contains(a.geometry.shape[:a.rank], 0), nil
}

// growBy lets the library append b to d. b must be simple, and d must not be shared yet.
func (d *Array) growBy(op string, b *Array, axis int) error {
	if err := b.sc.h.lock(op); err != nil {
		return err
	}
	defer b.sc.h.mu.Unlock()
	if err := d.sc.h.lock(op); err != nil {
		return err
	}
	defer d.sc.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_concatenate(&cerr, d.sc.h.c, b.sc.h.c, C.int32_t(axis), &d.geometry, &d.sc.facts) < 0 {
		return d.sc.h.breakOn(d.sc.h.failed(op, &cerr))
	}
	return nil
}
