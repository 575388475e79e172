package ndarray_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestAutoChunkShape(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		size  int
		want  []int64
	}{
		{nil, 8, nil},
		{[]int64{0}, 8, []int64{1}},
		{[]int64{10, 0, 10}, 8, []int64{10, 1, 10}},
		{[]int64{1000}, 8, []int64{1000}},
		{[]int64{1 << 20}, 8, []int64{1 << 17}},
		{[]int64{1 << 40}, 1, []int64{1 << 20}},
		{[]int64{4096, 4096}, 4, []int64{512, 512}},
		{[]int64{365, 180, 360}, 4, []int64{46, 45, 90}},
		{[]int64{5}, 1 << 21, []int64{1}},
		{[]int64{1, 1, 1 << 22}, 4, []int64{1, 1, 1 << 18}},
		{[]int64{1 << 31, 1 << 31}, 8, []int64{256, 512}},
	} {
		require.Equal(t, c.want, ndarray.AutoChunkShape(c.shape, c.size), "%v of %d", c.shape, c.size)
	}
}

func TestAuto_bounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt32), 1, 4).Draw(t, "shape")
		size := rapid.IntRange(1, 1<<16).Draw(t, "size")
		chunk := ndarray.AutoChunkShape(shape, size)
		block := ndarray.AutoBlocks(chunk, size)
		for i := range shape {
			require.True(t, chunk[i] >= 1 && chunk[i] <= max(shape[i], 1))
			require.True(t, block[i] >= 1 && block[i] <= chunk[i])
		}
		for _, s := range []struct {
			shape  []int64
			target int64
		}{{chunk, ndarray.ChunkBytes}, {block, 1 << 17}} {
			n, ok := ndarray.Product(append(slices.Clone(s.shape), int64(size)))
			require.True(t, ok)
			require.LessOrEqual(t, n, s.target)
		}
	})
}

// TestSlabs checks that slabs are contiguous in the buffer of the region and end at chunk
// boundaries.
func TestSlabs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		m := ndarray.Meta{DType: dtype(t, "|V65536"), Shape: make([]int64, rank)}
		r := ndarray.Region{Start: make([]int64, rank), Shape: make([]int64, rank)}
		for i := range rank {
			r.Start[i] = rapid.Int64Range(0, 9).Draw(t, "start")
			r.Shape[i] = rapid.SampledFrom([]int64{0, 1, 1, 2, 7, 20}).Draw(t, "length")
			m.Shape[i] = r.Start[i] + r.Shape[i]
		}
		if rapid.Bool().Draw(t, "chunked") {
			m.ChunkShape = rapid.SliceOfN(rapid.Int64Range(1, 9), rank, rank).Draw(t, "chunk")
		}
		n, last := int64(0), int64(-1)
		for s := range m.Slabs(r) {
			require.True(t, s.Check(m.Shape) == nil)
			first := int64(0) // index of the slab's first element in r
			for i := range rank {
				first = first*r.Shape[i] + s.Start[i] - r.Start[i]
			}
			require.Equal(t, n, first)
			n += s.NumElems()
			last = n
		}
		require.Equal(t, r.NumElems(), last)
	})
	// A large region is divided, and a loop may end early.
	m := ndarray.Meta{DType: dtype(t, "<f8"), ChunkShape: []int64{1, 10, 1 << 17}}
	n := 0
	for s := range m.Slabs(ndarray.Region{Start: []int64{0, 5, 0}, Shape: []int64{1, 95, 1 << 17}}) {
		require.Equal(t, []int64{0, int64(n) * 10, 0}, []int64{s.Start[0], s.Start[1] / 10 * 10, s.Start[2]})
		if n++; n == 4 {
			break
		}
	}
	require.Equal(t, 4, n)
}
