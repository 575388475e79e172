package cli

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The pieces of an array are its elements in row-major order, none of them larger
// than allowed.
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
