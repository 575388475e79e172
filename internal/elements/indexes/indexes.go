// Runs of indexes, and an array of indexes.

package indexes

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Longest is the maximum length of a dimension whose indexes are listed.
const Longest = 1 << 22

// Array is the backend of an array whose elements are their own index along one dimension, as int64
// in native byte order.
type Array struct {
	Shape []int64
	Axis  int
}

// Meta implements ndarray.Backend.
func (x *Array) Meta() ndarray.Meta {
	return ndarray.Meta{Format: "mem", Shape: x.Shape, DType: ndarray.DTypeOf[int64](), ReadOnly: true}
}

// ReadRegion implements ndarray.Backend.
func (x *Array) ReadRegion(_ context.Context, dst []byte, r ndarray.Region, workers int) error {
	inner, _ := grid.Product(r.Shape[x.Axis+1:])
	for i := range r.NumElems() {
		at := r.Start[x.Axis] + i/inner%r.Shape[x.Axis]
		binary.NativeEndian.PutUint64(dst[8*i:], uint64(at))
	}
	return nil
}

// Close implements ndarray.Backend.
func (x *Array) Close() error { return nil }

// Run is the part of one dimension of an array that a dimension of a selection runs along.
type Run struct {
	First, Last int64
	List        []int64 // all indexes; nil if there are more than Longest
}

// Along returns, for each dimension of the selection s of a shape, its run along an axis of the
// shape, or nil if it does not run along the axis. first is the index of the first element. The
// selection must take at least one element.
func Along(ctx context.Context, shape []int64, s ndarray.Selection, axis int) (runs []*Run, first int64, err error) {
	index, err := ndarray.New(&Array{Shape: shape, Axis: axis})
	if err != nil {
		return nil, 0, err
	}
	view, err := ndarray.View(index, s)
	if err != nil {
		return nil, 0, errors.Join(err, index.Close())
	}
	defer func() { err = errors.Join(err, view.Close(), index.Close()) }()
	read := func(dimension int, start, n int64) ([]int64, error) {
		rank := len(view.Shape())
		r := ndarray.Region{Start: make([]int64, rank), Shape: make([]int64, rank)}
		for k := range r.Shape {
			r.Shape[k] = 1
		}
		if rank > 0 {
			r.Start[dimension], r.Shape[dimension] = start, n
		}
		out := make([]int64, r.NumElems())
		return out, ndarray.Read(ctx, view, out, r)
	}
	begin, err := read(0, 0, 1)
	if err != nil {
		return nil, 0, err
	}
	runs = make([]*Run, len(view.Shape()))
	for i, n := range view.Shape() {
		if n < 2 {
			continue
		}
		if n > Longest {
			last, err := read(i, n-1, 1)
			if err != nil {
				return nil, 0, err
			}
			if last[0] != begin[0] {
				runs[i] = &Run{First: begin[0], Last: last[0]}
			}
			continue
		}
		list, err := read(i, 0, n)
		if err != nil {
			return nil, 0, err
		}
		for _, at := range list {
			if at != list[0] {
				runs[i] = &Run{First: list[0], Last: list[n-1], List: list}
				break
			}
		}
	}
	return runs, begin[0], nil
}
