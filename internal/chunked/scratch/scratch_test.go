package scratch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/chunked/scratch"
)

const unit = scratch.Small + 1

func limited(t *testing.T, limit int64) {
	t.Helper()
	previous := scratch.SetLimit(limit)
	t.Cleanup(func() { require.Equal(t, limit, scratch.SetLimit(previous)) })
	scratch.ResetPeak()
}

func TestAcquire(t *testing.T) {
	t.Run("many requests", func(t *testing.T) {
		limited(t, 4*unit)
		var inside, most atomic.Int64
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				g, err := scratch.Acquire(t.Context(), unit)
				if err != nil {
					t.Error(err)
					return
				}
				for now, old := inside.Add(1), most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				inside.Add(-1)
				g.Release()
			})
		}
		all.Wait()
		require.LessOrEqual(t, most.Load(), int64(4))
		now, peak := scratch.Held()
		require.Zero(t, now)
		require.GreaterOrEqual(t, peak, most.Load()*unit)
		require.LessOrEqual(t, peak, int64(4*unit))
	})
	t.Run("request above the limit", func(t *testing.T) {
		limited(t, 2*unit)
		one, err := scratch.Acquire(t.Context(), unit)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := scratch.Acquire(ctx, 100*unit)
			failed <- err
		}()
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		one.Release()
		alone, err := scratch.Acquire(t.Context(), 100*unit)
		require.NoError(t, err)
		_, err = scratch.Acquire(ctx, unit)
		require.ErrorIs(t, err, context.Canceled, "no other process runs")
		small, err := scratch.Acquire(t.Context(), scratch.Small)
		require.NoError(t, err, "small requests do not wait")
		small.Release()
		alone.Release()
	})
	t.Run("changed limit", func(t *testing.T) {
		limited(t, unit)
		old, err := scratch.Acquire(t.Context(), unit)
		require.NoError(t, err)
		require.EqualValues(t, unit, scratch.SetLimit(0))
		limited(t, 2*unit)
		next, err := scratch.Acquire(t.Context(), 2*unit)
		require.NoError(t, err)
		old.Release()
		next.Release()
		next, err = scratch.Acquire(t.Context(), 2*unit)
		require.NoError(t, err, "no part was returned twice")
		next.Release()
	})
}

func TestGet(t *testing.T) {
	for n := scratch.Small; n < 64*scratch.Small; n += 777 {
		b := scratch.Get(n)
		require.Len(t, b, n)
		require.LessOrEqual(t, 4*cap(b), 5*n, "%d", n)
		scratch.Put(b)
		require.GreaterOrEqual(t, cap(scratch.Get(n)), n)
	}
	scratch.Put(make([]byte, 3*scratch.Small+1)) // not a size of Get
	require.Len(t, scratch.Get(3*scratch.Small+1), 3*scratch.Small+1)
	small := make([]byte, 8, 16)
	require.Equal(t, &small[0], &scratch.Grown(small, 16)[0])
	require.Len(t, scratch.Grown(small, unit), unit)
}
