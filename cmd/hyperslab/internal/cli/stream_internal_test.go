package cli

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPieces checks that pieces covers all elements of an array in row-major order, and that no
// piece is larger than allowed.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 7), 0, 4).Draw(t, "shape")
		most := rapid.Int64Range(0, 40).Draw(t, "most")
		var chunk []int64
		if rapid.Bool().Draw(t, "chunked") {
			for range shape {
				chunk = append(chunk, rapid.Int64Range(1, 5).Draw(t, "chunk"))
			}
		}
		total := int64(1)
		for _, n := range shape {
			total *= n
		}
		next, first := int64(0), int64(-1)
		for r := range pieces(shape, chunk, most) {
			n := r.NumElems()
			require.LessOrEqual(t, n, max(most, 1), "%v", r)
			if first < 0 {
				first = n
			}
			require.LessOrEqual(t, n, first, "the first is the largest")
			offset := int64(0)
			for axis := range shape {
				offset = offset*shape[axis] + r.Start[axis]
			}
			require.Equal(t, next, offset, "%v", r)
			cut := slices.IndexFunc(r.Shape, func(n int64) bool { return n != 1 })
			for axis := max(cut, 0) + 1; cut >= 0 && axis < len(shape); axis++ {
				require.Equal(t, shape[axis], r.Shape[axis], "%v: without gaps", r)
			}
			next += n
		}
		require.Equal(t, total, next)
	})
}

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
		for r := range pieces(shape, chunk, n) {
			require.LessOrEqual(t, r.NumElems(), n)
			for at := range pieces(r.Shape, nil, 1) {
				index := ""
				for i := range shape {
					index += fmt.Sprint((r.Start[i]+at.Start[i])/chunk[i], " ")
				}
				seen[index+fmt.Sprint(r.Start)]++
			}
		}
		grid := int64(1)
		for i := range shape {
			grid *= (shape[i] + chunk[i] - 1) / chunk[i]
		}
		require.Len(t, seen, int(grid), "each chunk is in one piece")
	})
	require.Equal(t, int64(4), progressPiece([]int64{100}, []int64{2}, 50, 3, 1), "no less than some, in whole chunks")
	require.Equal(t, int64(6), progressPiece([]int64{100}, []int64{2}, 50, 3, 3), "a chunk for each worker")
	require.Equal(t, int64(20), progressPiece([]int64{10, 10}, []int64{2, 5}, 50, 1, 2), "a layer of chunks")
	require.Equal(t, int64(10), progressPiece([]int64{10, 10}, []int64{2, 5}, 10, 1, 1), "no layer has room")
}
