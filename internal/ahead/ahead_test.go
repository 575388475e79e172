package ahead

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

func TestScan(t *testing.T) {
	regions := func(yield func(start, shape []int64) bool) {
		for i := range int64(3) {
			if !yield([]int64{i}, []int64{1}) {
				return
			}
		}
	}
	array, other, view := new(int), new(int), new(int)
	starts := func(ctx context.Context) (list []int64) {
		if s := Current(ctx); s != nil {
			for start := range s.Regions {
				list = append(list, start[0])
			}
		}
		return list
	}
	ctx, stop := WithScan(t.Context(), view, regions)
	require.Nil(t, Current(ctx), "before a read")
	require.Nil(t, Current(Enter(ctx, other)))
	in := Enter(ctx, view)
	require.Equal(t, []int64{0, 1, 2}, starts(in))
	require.Nil(t, Current(Enter(in, other)), "read of another array")
	through := Enter(Through(in, array, func(start, shape []int64) ([]int64, []int64) { return []int64{start[0] + 10}, shape }), array)
	require.Equal(t, []int64{10, 11, 12}, starts(through))

	r := &recorder{Reader: bytes.NewReader(make([]byte, 100))}
	Current(through).Begin(nil, nil)
	Current(through).Begin(r, List([][2]int64{{1, 2}}))
	Current(in).Begin(r, List([][2]int64{{3, 4}}))
	require.Equal(t, [][2]int64{{1, 2}}, r.ranges, "only the first read begins")
	stop()
	require.Equal(t, 1, r.stopped)
	late, stop := WithScan(t.Context(), view, regions)
	stop()
	Current(Enter(late, view)).Begin(r, List([][2]int64{{5, 6}}))
	require.Len(t, r.ranges, 1, "after the end")
}
