package grid_test

import (
	"iter"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// randomRegion returns a region, and a chunk shape that can be nil.
func randomRegion(t *rapid.T) (r grid.Box, chunk []int64) {
	rank := rapid.IntRange(0, 4).Draw(t, "rank")
	r = grid.Box{
		Start: rapid.SliceOfN(rapid.Int64Range(0, 9), rank, rank).Draw(t, "start"),
		Shape: rapid.SliceOfN(rapid.SampledFrom([]int64{0, 1, 1, 2, 7, 12}), rank, rank).Draw(t, "shape"),
	}
	if rapid.Bool().Draw(t, "chunked") {
		chunk = rapid.SliceOfN(rapid.Int64Range(0, 9), rank, rank).Draw(t, "chunk")
	}
	return r, chunk
}

// requireConsecutive checks that boxes fill the row-major buffer of r in their order.
func requireConsecutive(t require.TestingT, r grid.Box, boxes iter.Seq[grid.Box], check func(b grid.Box)) {
	next := int64(0)
	for b := range boxes {
		require.NotZero(t, elements(b))
		first, last := int64(0), int64(0) // indexes of the first and the last element in r
		for i, n := range r.Shape {
			require.LessOrEqual(t, b.Start[i]-r.Start[i]+b.Shape[i], n)
			first = first*n + b.Start[i] - r.Start[i]
			last = last*n + b.Start[i] - r.Start[i] + b.Shape[i] - 1
		}
		require.Equal(t, next, first, "%v of %v", b, r)
		require.Equal(t, elements(b), last-first+1, "%v of %v: gaps", b, r)
		next += elements(b)
		check(b)
	}
	require.Equal(t, elements(r), next)
}

// TestCut checks that the boxes contain each element once, that no chunk is in two boxes, and that
// only single chunks are larger than requested.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, chunk := randomRegion(t)
		most := rapid.Int64Range(-1, 300).Draw(t, "most")
		if chunk == nil {
			requireConsecutive(t, r, grid.Cut(r, nil, most), func(b grid.Box) { require.LessOrEqual(t, elements(b), max(most, 1)) })
			return
		}
		seen, boxOf, n := map[[4]int64]int{}, map[[4]int64]int{}, 0
		for b := range grid.Cut(r, chunk, most) {
			n++
			eachIndex(b, func(at [4]int64) {
				seen[at]++
				for i, c := range chunk {
					at[i] /= max(c, 1)
				}
				require.Contains(t, []int{0, n}, boxOf[at], "chunk %v in two boxes", at)
				boxOf[at] = n
			})
			for i, c := range chunk {
				if elements(b) > most {
					require.Equal(t, b.Start[i]/max(c, 1), (b.Start[i]+b.Shape[i]-1)/max(c, 1), "more than a chunk: %v", b)
				}
			}
		}
		require.Len(t, seen, int(elements(r)))
		for at, times := range seen {
			require.Equal(t, 1, times)
			for i := range r.Start {
				require.True(t, at[i] >= r.Start[i] && at[i] < r.Start[i]+r.Shape[i])
			}
		}
	})
}

// TestCut_limits checks regions whose numbers of elements or whose ends overflow, and a loop that
// ends early.
func TestCut_limits(t *testing.T) {
	r := grid.Box{Start: []int64{math.MaxInt64 - 3, 5, math.MaxInt64 - 8}, Shape: []int64{3, math.MaxInt64 - 5, 8}}
	n := int64(0)
	for b := range grid.Cut(r, []int64{2, math.MaxInt64, 3}, 20) {
		require.Equal(t, grid.Box{Start: []int64{r.Start[0], 5, r.Start[2]}, Shape: []int64{2, math.MaxInt64 - 5, 1}}, b)
		break
	}
	for b := range grid.Cut(r, nil, 20) {
		require.Equal(t, grid.Box{Start: []int64{r.Start[0], 5 + 2*n, r.Start[2]}, Shape: []int64{1, 2, 8}}, b)
		if n++; n == 3 {
			break
		}
	}
	require.EqualValues(t, 3, n)
	for _, shape := range [][]int64{{1 << 60, 16}, {1 << 62, 2}, {3, 1 << 60, 16}, {math.MaxInt64, math.MaxInt64}} {
		n = 0
		for b := range grid.Cut(grid.Whole(shape), nil, 1<<16) {
			require.EqualValues(t, 1<<16, elements(b), "%v", shape)
			if n++; n == 3 {
				break
			}
		}
		require.EqualValues(t, 3, n, "%v", shape)
	}
}

// TestConsecutive checks that the boxes fill the buffer of the region, and that they end at borders
// of chunks if a layer of chunks is small enough.
func TestConsecutive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, chunk := randomRegion(t)
		most := rapid.Int64Range(0, 300).Draw(t, "most")
		end := make([]int64, len(r.Start))
		for i := range end {
			end[i] = r.Start[i] + r.Shape[i]
		}
		requireConsecutive(t, r, grid.Consecutive(r, chunk, most), func(b grid.Box) {
			require.LessOrEqual(t, elements(b), max(most, 1))
			layer := int64(1)
			for i := len(chunk) - 1; i >= 0; i-- {
				if c := max(chunk[i], 1); c*layer <= most {
					at := b.Start[i] + b.Shape[i]
					require.True(t, at == end[i] || at%c == 0, "axis %d of %v ends inside of a chunk", i, b)
				}
				layer *= r.Shape[i]
			}
		})
	})
}

// TestSlabs checks that slabs are contiguous in the buffer of the region and end at chunk
// boundaries.
func TestSlabs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, chunk := randomRegion(t)
		requireConsecutive(t, r, grid.Slabs(chunk, 65536, r), func(s grid.Box) {
			for i, c := range chunk {
				if at := s.Start[i] + s.Shape[i]; at < r.Start[i]+r.Shape[i] && s.Shape[i] > 1 {
					require.Zero(t, at%max(c, 1), "%v", s)
				}
			}
		})
	})
	// A large region is divided, and a loop may end early.
	n := 0
	for s := range grid.Slabs([]int64{1, 10, 1 << 17}, 8, grid.Box{Start: []int64{0, 5, 0}, Shape: []int64{1, 95, 1 << 17}}) {
		require.Equal(t, []int64{0, int64(n) * 10, 0}, []int64{s.Start[0], s.Start[1] / 10 * 10, s.Start[2]})
		if n++; n == 4 {
			break
		}
	}
	require.Equal(t, 4, n)
}
