// Grids divide arrays into chunks. The last chunks of each dimension are clipped at the array's
// edge.

package ndarray

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hyperslab/hyperslab/internal/ceil"
)

// Grid divides an array into chunks of one shape. Chunks at the far edges are
// clipped to the array.
type Grid struct {
	shape, chunk, counts []int64
}

// NewGrid returns the grid of chunks of the given shape. A nil chunk shape means one chunk of the
// whole array. Chunk lengths may exceed the array's. A dimension of length 0 has no chunks, and its
// chunk length may be 0.
//
// It returns ErrShape if CheckShape rejects the shape, if the chunk shape has another rank, for any
// other chunk length below 1, and for more than 2^63-1 chunks.
func NewGrid(shape, chunk []int64) (Grid, error) {
	if err := CheckShape(shape, 1); err != nil {
		return Grid{}, err
	}
	g := Grid{shape: slices.Clone(shape), chunk: slices.Clone(chunk), counts: make([]int64, len(shape))}
	if chunk == nil {
		g.chunk = make([]int64, len(shape))
		for i, n := range shape {
			g.chunk[i] = max(n, 1)
		}
	}
	if len(g.chunk) != len(shape) {
		return Grid{}, fmt.Errorf("%w: chunk shape %v has %d axes, array has %d", ErrShape, chunk, len(chunk), len(shape))
	}
	for i, c := range g.chunk {
		if c < 0 || c == 0 && shape[i] > 0 {
			return Grid{}, fmt.Errorf("%w: axis %d: chunk length %d", ErrShape, i, c)
		}
		g.counts[i] = ceil.Div(shape[i], c)
	}
	return g, nil
}

// NumChunks returns the number of chunks. It is 0 if any dimension has length 0.
func (g Grid) NumChunks() int64 {
	n, _ := Product(g.counts) // does not overflow: at most the number of elements
	return n
}

// Counts returns the number of chunks along each dimension.
func (g Grid) Counts() []int64 { return slices.Clone(g.counts) }

// Chunk returns the elements of the chunk at index, clipped to the array. index has one number per
// dimension and must be inside Counts.
func (g Grid) Chunk(index []int64) Region {
	r := Region{Start: make([]int64, len(index)), Shape: make([]int64, len(index))}
	for i, x := range index {
		r.Start[i] = x * g.chunk[i]
		r.Shape[i] = min(g.chunk[i], g.shape[i]-r.Start[i])
	}
	return r
}

// at returns the n-th chunk in row-major order.
func (g Grid) at(n int64) Region {
	index := make([]int64, len(g.counts))
	g.index(index, n)
	return g.Chunk(index)
}

// index stores the index of the n-th chunk in index.
func (g Grid) index(index []int64, n int64) {
	for i := len(index) - 1; i >= 0; i-- {
		index[i] = n % g.counts[i]
		n /= g.counts[i]
	}
}

// number returns the position of a chunk in row-major order.
func (g Grid) number(index []int64) int64 {
	n := int64(0)
	for i, x := range index {
		n = n*g.counts[i] + x
	}
	return n
}

// box returns the elements of a box of chunks. chunks contains the index of its first chunk and the
// number of chunks along each dimension.
func (g Grid) box(chunks Region) Region {
	r := Region{Start: make([]int64, len(g.counts)), Shape: make([]int64, len(g.counts))}
	for i, c := range g.chunk {
		r.Start[i] = chunks.Start[i] * c
		r.Shape[i] = g.shape[i] - r.Start[i]
		if end := chunks.Start[i] + chunks.Shape[i]; end < g.counts[i] {
			r.Shape[i] = end*c - r.Start[i]
		}
	}
	return r
}

// All yields the chunks in row-major order. The caller may keep the regions.
func (g Grid) All() iter.Seq[Region] {
	return func(yield func(Region) bool) {
		for n := range g.NumChunks() {
			if !yield(g.at(n)) {
				return
			}
		}
	}
}
