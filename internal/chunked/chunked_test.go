package chunked_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/chunked"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPlan_At compares the pieces of random regions with the elements of the region, one by one.
func TestPlan_At(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		shape, chunk := make([]int64, rank), make([]int64, rank)
		axes := make([]chunked.Axis, rank)
		selected := make([][]int64, rank) // indices along each axis
		count := make([]int64, rank)
		for d := range rank {
			shape[d] = rapid.Int64Range(1, 12).Draw(t, "shape")
			chunk[d] = rapid.Int64Range(1, 14).Draw(t, "chunk")
			block := rapid.Int64Range(1, 3).Draw(t, "block")
			stride := block + rapid.Int64Range(0, 4).Draw(t, "gap")
			start := rapid.Int64Range(0, shape[d]-1).Draw(t, "start")
			n := rapid.Int64Range(1, 4).Draw(t, "count")
			for i := range n * block {
				selected[d] = append(selected[d], start+i/block*stride+i%block)
			}
			var ok bool
			axes[d], ok = chunked.NewAxis(start, n, stride, block, shape[d])
			require.Equal(t, selected[d][n*block-1] < shape[d], ok)
			if !ok {
				t.Skip("the region is not inside the array")
			}
			count[d] = int64(len(selected[d]))
		}
		g := chunked.NewLayout(shape, chunk, 1)
		p := chunked.NewPlan(&g, axes, 1)
		want := make(map[int64][]byte) // elements by the number of the chunk; an element is its offset in the buffer
		total := int64(1)
		for _, n := range count {
			total *= n
		}
		buffer := make([]byte, total)
		for i := range total {
			buffer[i] = byte(i)
			number, k := int64(0), i
			at := make([]int64, rank)
			for d := rank - 1; d >= 0; d-- {
				at[d], k = selected[d][k%count[d]], k/count[d]
			}
			for d := range rank {
				number = number*g.Counts[d] + at[d]/chunk[d]
			}
			want[number] = append(want[number], byte(i))
		}
		require.Len(t, want, int(p.Chunks))
		q, last := p.NewPiece(), int64(-1)
		result := make([]byte, total)
		for k := range p.Chunks {
			p.At(k, q)
			require.Greater(t, q.Number, last)
			last = q.Number
			require.Equal(t, q.Number, p.Number(k))
			require.Len(t, want[q.Number], int(q.Elements))
			bytes := int64(1)
			for _, n := range chunk {
				bytes *= n
			}
			whole := make([]byte, bytes)
			p.Spread(q, whole, buffer[q.InBuffer:])
			p.Gather(q, result[q.InBuffer:], whole)
			require.Equal(t, q.Whole, q.Elements == bytes)
		}
		require.Equal(t, buffer, result)
	})
}

func TestEach(t *testing.T) {
	none := func() (int, error) { return 0, nil }
	put := func(int) error { return nil }
	for _, workers := range []int{0, 1, 2, 7} {
		for _, ahead := range []int64{1, 3, chunked.AnyOrder} {
			const n = 100
			t.Run("every number once", func(t *testing.T) {
				var mu sync.Mutex
				var got []int64
				err := chunked.Each(t.Context(), n, workers, ahead, none, put, func(_ context.Context, _ int, k int64) error {
					mu.Lock()
					defer mu.Unlock()
					for i := range k - ahead + 1 {
						require.Contains(t, got, i, "%d began before %d ended", k, i)
					}
					got = append(got, k)
					return nil
				})
				require.NoError(t, err)
				slices.Sort(got)
				require.Len(t, slices.Compact(got), n)
			})
			t.Run("first error", func(t *testing.T) {
				failure := errors.New("failure")
				puts := 0
				var mu sync.Mutex
				takes := 0
				err := chunked.Each(t.Context(), n, workers, ahead, func() (int, error) {
					mu.Lock()
					defer mu.Unlock()
					takes++
					return takes, nil
				}, func(int) error {
					mu.Lock()
					defer mu.Unlock()
					puts++
					return nil
				}, func(ctx context.Context, _ int, k int64) error {
					if k == 40 {
						return failure
					}
					return ctx.Err()
				})
				require.Equal(t, failure, err)
				require.Equal(t, takes, puts)
			})
			t.Run("cancelled", func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				err := chunked.Each(ctx, n, workers, ahead, none, put, func(_ context.Context, _ int, k int64) error {
					if k == 10 {
						cancel()
					}
					return nil
				})
				require.Equal(t, context.Canceled, err)
			})
			t.Run("no state", func(t *testing.T) {
				failure := errors.New("failure")
				err := chunked.Each(t.Context(), n, workers, ahead, func() (int, error) { return 0, failure }, put,
					func(context.Context, int, int64) error { panic("called") })
				require.Equal(t, failure, err)
			})
			t.Run("error of put", func(t *testing.T) {
				failure := errors.New("failure")
				err := chunked.Each(t.Context(), n, workers, ahead, none, func(int) error { return failure },
					func(context.Context, int, int64) error { return nil })
				require.Equal(t, failure, err)
			})
		}
	}
}
