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
	First, Last, N int64

	step int64   // between the indexes; 0: list
	list []int64 // all indexes, if their distances differ
}

// Listed reports whether At returns each index. A dimension that is longer than Longest has only
// First and Last.
func (r *Run) Listed() bool { return r.step != 0 || r.list != nil }

// At returns index i of the run.
func (r *Run) At(i int64) int64 {
	if r.list != nil {
		return r.list[i]
	}
	return r.First + i*r.step
}

// block is the number of indexes that are read at a time.
const block = 1 << 16

// selected is the array of the indexes that a selection takes.
type selected struct{ *ndarray.Array }

// read reads n indexes along a dimension from an index on.
func (s selected) read(ctx context.Context, dimension int, start, n int64) ([]int64, error) {
	rank := len(s.Shape())
	r := ndarray.Region{Start: make([]int64, rank), Shape: make([]int64, rank)}
	for k := range r.Shape {
		r.Shape[k] = 1
	}
	if rank > 0 {
		r.Start[dimension], r.Shape[dimension] = start, n
	}
	out := make([]int64, r.NumElems())
	return out, ndarray.Read(ctx, s.Array, out, r)
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
	x := selected{view}
	begin, err := x.read(ctx, 0, 0, 1)
	if err != nil {
		return nil, 0, err
	}
	runs = make([]*Run, len(view.Shape()))
	for i, n := range view.Shape() {
		if n < 2 {
			continue
		}
		if runs[i], err = x.run(ctx, i, n); err != nil {
			return nil, 0, err
		}
	}
	return runs, begin[0], nil
}

// run returns the run of a dimension of length n, or nil if all indexes are equal.
func (s selected) run(ctx context.Context, dimension int, n int64) (*Run, error) {
	first, err := s.read(ctx, dimension, 0, 2)
	if err != nil {
		return nil, err
	}
	last, err := s.read(ctx, dimension, n-1, 1)
	if err != nil {
		return nil, err
	}
	r := &Run{First: first[0], Last: last[0], N: n, step: first[1] - first[0]}
	if n > Longest {
		if r.step = 0; r.First == r.Last {
			return nil, nil
		}
		return r, nil
	}
	for at := int64(0); at < n; at += block {
		part, err := s.read(ctx, dimension, at, min(block, n-at))
		if err != nil {
			return nil, err
		}
		for i, v := range part {
			if r.list == nil && v != r.First+(at+int64(i))*r.step {
				for k := range at + int64(i) {
					r.list = append(r.list, r.First+k*r.step)
				}
			}
			if r.list != nil {
				r.list = append(r.list, v)
			}
		}
	}
	if r.step == 0 && r.list == nil {
		return nil, nil
	}
	return r, nil
}
