package shell

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ParseRange parses --range: two numbers, the lower one first.
func ParseRange(s string) (low, high float64, err error) {
	left, right, ok := strings.Cut(s, ",")
	low, err1 := strconv.ParseFloat(strings.TrimSpace(left), 64)
	high, err2 := strconv.ParseFloat(strings.TrimSpace(right), 64)
	if !ok || err1 != nil || err2 != nil || !(low < high) || math.IsInf(high-low, 0) {
		return 0, 0, Usagef("--range %s: want two numbers, the lower one first, for example --range=-10,10", s)
	}
	return low, high, nil
}

// LongestAxis is the maximum number of coordinates that are read.
const LongestAxis = 1 << 22

// CoordinatesBlock is the bytes of coordinates that are read at a time.
const CoordinatesBlock = 4 << 20

// Indexes returns the indexes of axis k of the whole array along axis i of the part, or nil if axis
// i does not run along axis k.
func (p *Part) Indexes(ctx context.Context, k, i int) ([]int64, error) {
	n := p.Shape()[i]
	if n > LongestAxis || p.NumElems() == 0 {
		return nil, nil
	}
	if p.Source == nil {
		if k != i {
			return nil, nil
		}
		out := make([]int64, n)
		for at := range out {
			out[at] = int64(at)
		}
		return out, nil
	}
	// An array of the same shape, whose elements are their own indexes, gives the indexes through
	// the same selection.
	index, err := ndarray.New(&IndexArray{Shape: p.Source.Shape(), Axis: k})
	if err != nil {
		return nil, err
	}
	view, err := ndarray.View(index, p.Selection)
	if err != nil {
		return nil, err
	}
	rank := len(view.Shape())
	if i >= rank { // a dimension of a sub-array in a field
		return nil, errors.Join(view.Close(), index.Close())
	}
	r := ndarray.Region{Start: make([]int64, rank), Shape: make([]int64, rank)}
	for axis := range r.Shape {
		r.Shape[axis] = 1
	}
	r.Shape[i] = n
	out := make([]int64, n)
	if err := errors.Join(ndarray.Read(ctx, view, out, r), view.Close(), index.Close()); err != nil {
		return nil, err
	}
	for _, at := range out[1:] {
		if at != out[0] {
			return out, nil
		}
	}
	return nil, nil
}

// IndexArray is an array whose elements are their index along one axis.
type IndexArray struct {
	Shape []int64
	Axis  int
}

// Meta implements ndarray.Backend.
func (x *IndexArray) Meta() ndarray.Meta {
	return ndarray.Meta{Format: "mem", Shape: x.Shape, DType: ndarray.DTypeOf[int64](), ReadOnly: true}
}

// ReadRegion implements ndarray.Backend.
func (x *IndexArray) ReadRegion(_ context.Context, dst []byte, r ndarray.Region, workers int) error {
	inner, _ := grid.Product(r.Shape[x.Axis+1:])
	for i := range r.NumElems() {
		at := r.Start[x.Axis] + i/inner%r.Shape[x.Axis]
		binary.NativeEndian.PutUint64(dst[8*i:], uint64(at))
	}
	return nil
}

// Close implements ndarray.Backend.
func (x *IndexArray) Close() error { return nil }
