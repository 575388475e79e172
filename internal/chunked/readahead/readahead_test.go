package readahead

import (
	"bytes"
	"context"
	"io"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder records the ranges of Prefetch.
type recorder struct {
	*bytes.Reader
	ranges  [][2]int64
	stopped int
}

func (r *recorder) Prefetch(_ context.Context, ranges iter.Seq2[int64, int64]) func() {
	for off, n := range ranges {
		r.ranges = append(r.ranges, [2]int64{off, n})
	}
	return func() { r.stopped++ }
}

func TestOf(t *testing.T) {
	r := &recorder{Reader: bytes.NewReader(make([]byte, 100))}
	require.Nil(t, Of(r.Reader))
	Of(io.NewSectionReader(r, 10, 50)).Prefetch(t.Context(), List([][2]int64{{0, 5}, {45, 20}, {60, 1}}))
	require.Equal(t, [][2]int64{{10, 5}, {55, 5}}, r.ranges)
}

func TestBounds(t *testing.T) {
	bounds := func(list ...[2][]int64) (start, end []int64) {
		return Bounds(func(yield func(start, shape []int64) bool) {
			for _, r := range list {
				if !yield(r[0], r[1]) {
					return
				}
			}
		})
	}
	start, end := bounds([2][]int64{{3, 7}, {2, 1}}, [2][]int64{{4, 0}, {5, 2}})
	require.Equal(t, []int64{3, 0}, start)
	require.Equal(t, []int64{9, 8}, end)
	start, _ = bounds()
	require.Nil(t, start)
	start, _ = bounds([2][]int64{{3}, {2}}, [2][]int64{{4, 0}, {5, 2}})
	require.Nil(t, start, "different ranks")
}
