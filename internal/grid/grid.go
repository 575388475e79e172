// Grids divide arrays into chunks. The last chunks of each dimension are clipped at the array's
// edge.

package grid

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// Box is a box of elements or of chunks: Shape[i] of them from Start[i] on, along each axis. It has
// the fields of ndarray.Region, so that one converts to the other.
type Box struct{ Start, Shape []int64 }

// Whole returns the box of all elements of an array. It uses shape.
func Whole(shape []int64) Box { return Box{Start: make([]int64, len(shape)), Shape: shape} }

// Grid divides an array into chunks of one shape. Chunks at the far edges are
// clipped to the array.
type Grid struct {
	Shape  []int64 // elements of the array along each dimension
	Chunk  []int64 // elements of a chunk along each dimension, at least 1 unless the array has none
	Counts []int64 // chunks along each dimension
}

// Of returns the grid of an array whose shape and chunk shape are those of a valid grid. The grid
// uses the slices.
func Of(shape, chunk []int64) Grid {
	g := Grid{Shape: shape, Chunk: chunk, Counts: make([]int64, len(shape))}
	for i, c := range chunk {
		g.Counts[i] = DivUp(shape[i], c)
	}
	return g
}

// New returns the grid of chunks of the given shape. A nil chunk shape means one chunk of the
// whole array. Chunk lengths may exceed the array's. A dimension of length 0 has no chunks, and its
// chunk length may be 0.
//
// It returns ErrShape if Check rejects the shape, if the chunk shape has another rank, for any
// other chunk length below 1, and for more than 2^63-1 chunks.
func New(shape, chunk []int64) (Grid, error) {
	if err := Check(shape, 1); err != nil {
		return Grid{}, err
	}
	shape, chunk = slices.Clone(shape), slices.Clone(chunk)
	if chunk == nil {
		chunk = make([]int64, len(shape))
		for i, n := range shape {
			chunk[i] = max(n, 1)
		}
	}
	if len(chunk) != len(shape) {
		return Grid{}, fmt.Errorf("%w: chunk shape %v has %d axes, array has %d", errs.ErrShape, chunk, len(chunk), len(shape))
	}
	for i, c := range chunk {
		if c < 0 || c == 0 && shape[i] > 0 {
			return Grid{}, fmt.Errorf("%w: axis %d: chunk length %d", errs.ErrShape, i, c)
		}
	}
	return Of(shape, chunk), nil
}

// NumChunks returns the number of chunks. It is 0 if any dimension has length 0.
func (g Grid) NumChunks() int64 {
	n, _ := Product(g.Counts) // does not overflow: at most the number of elements
	return n
}

// At returns the elements of the chunk at index, clipped to the array. index has one number per
// dimension and must be inside Counts.
func (g Grid) At(index []int64) Box {
	r := Box{Start: make([]int64, len(index)), Shape: make([]int64, len(index))}
	for i, x := range index {
		r.Start[i] = x * g.Chunk[i]
		r.Shape[i] = min(g.Chunk[i], g.Shape[i]-r.Start[i])
	}
	return r
}

// Nth returns the elements of the n-th chunk in row-major order.
func (g Grid) Nth(n int64) Box { return g.At(g.Index(n)) }

// Index returns the index of the n-th chunk in row-major order.
func (g Grid) Index(n int64) []int64 {
	index := make([]int64, len(g.Counts))
	g.index(index, n)
	return index
}

// index stores the index of the n-th chunk in index.
func (g Grid) index(index []int64, n int64) {
	for i := len(index) - 1; i >= 0; i-- {
		index[i] = n % g.Counts[i]
		n /= g.Counts[i]
	}
}

// number returns the position of a chunk in row-major order.
func (g Grid) number(index []int64) int64 {
	n := int64(0)
	for i, x := range index {
		n = n*g.Counts[i] + x
	}
	return n
}

// Elements returns the elements of a box of chunks.
func (g Grid) Elements(chunks Box) Box {
	r := Box{Start: make([]int64, len(g.Counts)), Shape: make([]int64, len(g.Counts))}
	for i, c := range g.Chunk {
		r.Start[i] = chunks.Start[i] * c
		r.Shape[i] = g.Shape[i] - r.Start[i]
		if end := chunks.Start[i] + chunks.Shape[i]; end < g.Counts[i] {
			r.Shape[i] = end*c - r.Start[i]
		}
	}
	return r
}

// All yields the chunks in row-major order. The caller may keep the boxes.
func (g Grid) All() iter.Seq[Box] {
	return func(yield func(Box) bool) {
		for n := range g.NumChunks() {
			if !yield(g.Nth(n)) {
				return
			}
		}
	}
}

// Equal reports whether b and o are the same box.
func (b Box) Equal(o Box) bool {
	return slices.Equal(b.Start, o.Start) && slices.Equal(b.Shape, o.Shape)
}

// Clone returns a copy that shares no memory with b.
func (b Box) Clone() Box { return Box{Start: slices.Clone(b.Start), Shape: slices.Clone(b.Shape)} }

// Index returns the coordinates of element i of b, in row-major order.
func (b Box) Index(i int64) []int64 {
	at := slices.Clone(b.Start)
	for axis := len(at) - 1; axis >= 0; axis-- {
		n := b.Shape[axis]
		at[axis] += i % n
		i /= n
	}
	return at
}

// Intersect returns the common elements of b and o, which must have the same rank, and whether
// there are any.
func (b Box) Intersect(o Box) (Box, bool) {
	x := Box{Start: make([]int64, len(b.Start)), Shape: make([]int64, len(b.Start))}
	for i := range b.Start {
		from := max(b.Start[i], o.Start[i])
		n := min(b.Shape[i]-(from-b.Start[i]), o.Shape[i]-(from-o.Start[i])) // avoids the ends, which could overflow
		if n <= 0 {
			return Box{}, false
		}
		x.Start[i], x.Shape[i] = from, n
	}
	return x, true
}
