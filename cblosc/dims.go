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
// the metalayers. Chunks are copied without recompression if they have length 1 in the dropped
// dimensions and l sets no other chunks. Otherwise elements are copied, because the library handles
// longer chunks incorrectly.
//
// It returns ErrParam for a dimension of another length or out of range, and the errors of Copy.
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
		thin = thin && a.Chunks()[i] == 1
		mask[i] = 1
	}
	var view func(*newArray) C.int
	if thin {
		which := (*C.uint8_t)(unsafe.SliceData(mask))
		if all {
			which = nil
		}
		view = func(n *newArray) C.int {
			return C.goblosc2_array_squeeze(&n.cerr, a.sc.h.c, n.path, &n.where, &n.params, &n.geometry, n.dtype, which, &n.c, &n.facts)
		}
	}
	return a.reshape(op, l, keep(shape, kept), keep(a.Chunks(), kept), keep(a.Blocks(), kept), view, func(at []int64, one int64) []int64 {
		out := make([]int64, len(shape))
		for i := range out {
			out[i] = one
		}
		for j, i := range kept {
			out[i] = at[j]
		}
		return out
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
// It returns ErrParam for invalid axes, errors.ErrUnsupported for more than MaxDim dimensions, and
// the errors of Copy.
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
		shape[i], chunks[i], blocks[i] = int64(a.Shape()[j]), a.Chunks()[j], a.Blocks()[j]
	}
	mask := make([]byte, rank)
	for _, i := range axes {
		mask[i] = 1
	}
	view := func(n *newArray) C.int {
		return C.goblosc2_array_expand(&n.cerr, a.sc.h.c, n.path, &n.where, &n.params, &n.geometry, n.dtype, (*C.uint8_t)(unsafe.SliceData(mask)), &n.c, &n.facts)
	}
	return a.reshape(op, l, shape, chunks, blocks, view, func(at []int64, _ int64) []int64 { return keep(at, kept) })
}

func ones[T int32 | int64](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// reshape creates an array whose elements are those of a in the same order. It uses view if view is
// not nil and the chunks stay unchanged; otherwise it copies elements. The function to maps an
// index of the new array to an index of a. With one = 1 it maps a shape to a shape.
func (a *Array) reshape(op string, l Layout, shape []int64, chunks, blocks []int32, view func(*newArray) C.int, to func(at []int64, one int64) []int64) (*Array, error) {
	p, err := l.params(a, shape, chunks, blocks)
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	if view != nil && a.rank > 0 && len(shape) > 0 && slices.Equal(p.Chunks, chunks) && slices.Equal(p.Blocks, blocks) && !p.Caterva {
		plain, err := a.plainLocked()
		if err == nil && plain {
			err = a.sc.checkStored(0, int64(a.sc.facts.nchunks))
		}
		if err != nil {
			return nil, refused(op, a.sc.path, err)
		}
		if plain {
			return a.deriveLocked(op, p, view)
		}
	}
	return a.gatherLocked(op, p, func(at []int64) []int64 { return to(at, 0) }, func(n []int64) []int64 { return to(n, 1) })
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
// dimensions differ; and the errors of Copy.
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
	p, err := l.params(first, shape, first.Chunks(), first.Blocks())
	if err != nil {
		return nil, refused(op, first.sc.path, err)
	}
	// The library must not handle empty dimensions, Caterva arrays and the filter Delta.
	library := !p.Caterva && !p.Storage.CParams.usesDelta()
	for _, b := range arrays {
		// If the chunks of a later array differ, the library writes elements to wrong positions.
		library = library && slices.Equal(b.Chunks(), p.Chunks) && slices.Equal(b.Blocks(), p.Blocks)
		if library {
			if library, err = b.simple(op); err != nil {
				return nil, err
			}
		}
	}
	d, rest := (*Array)(nil), arrays
	if library {
		d, err = first.Copy(l)
		rest = arrays[1:]
	} else {
		d, err = first.emptyLike(op, p)
	}
	if err != nil {
		return nil, err
	}
	start := make([]int64, len(shape))
	for _, b := range rest {
		if library {
			err = d.growBy(op, b, axis)
		} else {
			err = d.concatenate(op, b, axis, start)
		}
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// emptyLike creates the array p with the metalayers of a.
func (a *Array) emptyLike(op string, p *ArrayParams) (*Array, error) {
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	var err error
	if p.Meta, err = a.metaLocked(); err != nil {
		return nil, err
	}
	d, err := CreateArray(p)
	if err != nil {
		return nil, err
	}
	if err := a.sc.copyMetaLocked(d.sc.VLMeta(), a.sc.VLMeta()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// concatenate writes b into d at start, and advances start.
func (d *Array) concatenate(op string, b *Array, axis int, start []int64) error {
	if err := b.sc.h.lock(op); err != nil {
		return err
	}
	defer b.sc.h.mu.Unlock()
	extent := make([]int64, b.rank)
	for i := range extent {
		extent[i] = int64(b.geometry.shape[i])
	}
	err := d.fillFrom(op, b, start, extent, func(at []int64) []int64 {
		from := slices.Clone(at)
		from[axis] -= start[axis]
		return from
	}, nil)
	start[axis] += extent[axis]
	return err
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
