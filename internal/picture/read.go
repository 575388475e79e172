// Elements as numbers, reduced to cells and stretches while they are read.

package picture

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Bytes of elements that are read at a time.
const (
	defaultMemory = 128 << 20
	block         = 32 << 20
)

// reader reads arrays as numbers.
type reader struct {
	memory   int64  // bytes of elements, in all forms
	part     string // of complex numbers
	log      bool   // logarithms of the values
	stored   int    // bytes of a stored element, for progress
	nullable bool   // stored elements can be null; missing values of package cf are NaN already
	progress func(bytes int64)
	done     int64 // bytes of elements
}

// atOnce returns the number of elements of a type that are read at a time. Each element needs
// memory when it is decoded, as it is read, and twice as a number.
func (r *reader) atOnce(size int64) int64 {
	memory := cmp.Or(r.memory, defaultMemory)
	return max(min(block/size, memory/(2*size+16)), 1)
}

// each reads the elements piece by piece, in row-major order, because the sums of floats depend on
// their order. One value means that all elements of the
// region have it. Missing elements are NaN.
func (r *reader) each(ctx context.Context, arr *ndarray.Array, add func(r ndarray.Region, values []float64)) error {
	m := arr.Meta()
	size := int64(m.DType.Size)
	uniform := func(ndarray.Region) bool { return false }
	if !r.nullable {
		known, err := arr.Uniform(ctx)
		if err != nil {
			return err
		}
		if known != nil {
			uniform = known
		}
	}
	var raw []byte
	for box := range grid.Consecutive(grid.Whole(m.Shape), m.ChunkShape, r.atOnce(size)) {
		region := ndarray.Region(box)
		read := region
		if uniform(region) {
			read.Shape = slices.Repeat([]int64{1}, len(region.Shape))
		}
		n := read.NumElems()
		raw = slices.Grow(raw[:0], int(n*size))[:n*size]
		if err := arr.Read(ctx, raw, read); err != nil {
			return err
		}
		values, err := r.numbers(m.DType.Native(), raw)
		if err != nil {
			return err
		}
		if r.nullable {
			nulls := make([]bool, n)
			if err := arr.ReadNulls(ctx, nulls, read); err != nil {
				return err
			}
			for i, null := range nulls {
				if null {
					values[i] = math.NaN()
				}
			}
		}
		if r.log {
			Logarithms(values)
		}
		add(region, values)
		if r.done += region.NumElems() * int64(r.stored); r.progress != nil {
			r.progress(r.done)
		}
	}
	return ctx.Err()
}

// numbers converts elements in native byte order.
func (r *reader) numbers(d ndarray.DType, raw []byte) ([]float64, error) {
	n := len(raw) / d.Size
	complexes := d.Kind == ndarray.Complex
	if complexes {
		d, n = ndarray.DType{Kind: ndarray.Float, Size: d.Size / 2, Order: d.Order}, 2*n
	}
	words := make([]byte, 8*n)
	if err := ndarray.Convert(words, ndarray.DTypeOf[float64](), raw, d, true); err != nil {
		return nil, err
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Float64frombits(binary.NativeEndian.Uint64(words[8*i:]))
	}
	if !complexes {
		return values, nil
	}
	for i := range n / 2 {
		re, im := values[2*i], values[2*i+1]
		switch r.part {
		case Phase:
			values[i] = math.Atan2(im, re)
		case Real:
			values[i] = re
		case Imaginary:
			values[i] = im
		default:
			values[i] = math.Hypot(re, im)
		}
	}
	return values[:n/2], nil
}

// grid reduces an array of two dimensions to at most rows × columns cells.
func (r *reader) grid(ctx context.Context, arr *ndarray.Array, rows, columns int) (*Grid, error) {
	g := NewGrid(arr.Shape(), rows, columns)
	err := r.each(ctx, arr, g.Add)
	g.Finish()
	return g, err
}

// line reduces an array of one dimension to at most n stretches.
func (r *reader) line(ctx context.Context, arr *ndarray.Array, n int) (*Envelope, error) {
	e := NewEnvelope(arr.Shape()[0], n)
	return e, r.each(ctx, arr, e.Add)
}

// fullOf returns the value of full brightness of an image whose elements have type d.
func fullOf(d ndarray.DType) float64 {
	if d.Kind == ndarray.Uint {
		return math.Exp2(float64(8*d.Size)) - 1
	}
	return 1
}

// channels reduces the channels of an image, from 0 to 1. full is the value of full brightness.
func (r *reader) channels(ctx context.Context, arr *ndarray.Array, full float64, rows, columns int) ([]*Grid, error) {
	shape := arr.Shape()
	out := make([]*Grid, shape[2])
	for c := range out {
		out[c] = NewGrid(shape[:2], rows, columns)
	}
	err := r.each(ctx, arr, func(region ndarray.Region, values []float64) {
		plane := ndarray.Region{Start: region.Start[:2], Shape: region.Shape[:2]}
		n := int(region.Shape[2])
		for c := range n {
			channel := []float64{values[0] / full}
			if len(values) > 1 || region.NumElems() == 1 {
				channel = make([]float64, len(values)/n)
				for i := range channel {
					channel[i] = values[i*n+c] / full
				}
			}
			out[int(region.Start[2])+c].Add(plane, channel)
		}
	})
	for _, g := range out {
		g.Finish()
	}
	return out, err
}
