package encode

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestStream_PieceSize checks pieces that are smaller than allowed, so that progress is reported
// often. Each must consist of whole chunks and have a chunk for each worker, and no chunk may be in
// two pieces.
func TestStream_PieceSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 4).Draw(t, "rank")
		shape := rapid.SliceOfN(rapid.Int64Range(1, 9), rank, rank).Draw(t, "shape")
		chunk := rapid.SliceOfN(rapid.Int64Range(1, 9), rank, rank).Draw(t, "chunk")
		most := rapid.Int64Range(1, 3000).Draw(t, "most")
		some := rapid.Int64Range(0, 100).Draw(t, "some")
		workers := rapid.Int64Range(1, 4).Draw(t, "workers")
		n := progressPiece(shape, chunk, most, some, workers)
		require.Positive(t, n)
		require.LessOrEqual(t, n, most)
		require.LessOrEqual(t, progressPiece(shape, nil, most, some, workers), max(some, 1))
		if n == most {
			return
		}
		require.GreaterOrEqual(t, n, some)
		seen := make(map[string]int)
		for r := range grid.Consecutive(grid.Whole(shape), chunk, n) {
			require.LessOrEqual(t, ndarray.Region(r).NumElems(), n)
			for at := range grid.Cut(r, nil, 1) {
				index := ""
				for i := range shape {
					index += fmt.Sprint(at.Start[i]/chunk[i], " ")
				}
				seen[index+fmt.Sprint(r.Start)]++
			}
		}
		require.Len(t, seen, int(grid.Of(shape, chunk).NumChunks()), "each chunk is in one piece")
	})
	require.Equal(t, int64(4), progressPiece([]int64{100}, []int64{2}, 50, 3, 1), "no less than some, in whole chunks")
	require.Equal(t, int64(6), progressPiece([]int64{100}, []int64{2}, 50, 3, 3), "a chunk for each worker")
	require.Equal(t, int64(20), progressPiece([]int64{10, 10}, []int64{2, 5}, 50, 1, 2), "a layer of chunks")
	require.Equal(t, int64(10), progressPiece([]int64{10, 10}, []int64{2, 5}, 10, 1, 1), "no layer has room")
}
