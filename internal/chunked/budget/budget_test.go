package budget_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

const unit = budget.Small + 1

func limited(t *testing.T, limit int64) {
	t.Helper()
	previous := budget.SetLimit(limit)
	t.Cleanup(func() { require.Equal(t, limit, budget.SetLimit(previous)) })
	budget.ResetPeak()
}

func TestAcquire(t *testing.T) {
	t.Run("many requests", func(t *testing.T) {
		limited(t, 4*unit)
		var inside, most atomic.Int64
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				g, err := budget.Acquire(t.Context(), unit)
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
		now, peak := budget.Held()
		require.Zero(t, now)
		require.GreaterOrEqual(t, peak, most.Load()*unit)
		require.LessOrEqual(t, peak, int64(4*unit))
	})
	t.Run("request above the limit", func(t *testing.T) {
		limited(t, 2*unit)
		one, err := budget.Acquire(t.Context(), unit)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := budget.Acquire(ctx, 100*unit)
			failed <- err
		}()
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		one.Release()
		alone, err := budget.Acquire(t.Context(), 100*unit)
		require.NoError(t, err)
		_, err = budget.Acquire(ctx, unit)
		require.ErrorIs(t, err, context.Canceled, "no other process runs")
		small, err := budget.Acquire(t.Context(), budget.Small)
		require.NoError(t, err, "small requests do not wait")
		small.Release()
		alone.Release()
	})
	t.Run("changed limit", func(t *testing.T) {
		limited(t, unit)
		old, err := budget.Acquire(t.Context(), unit)
		require.NoError(t, err)
		require.EqualValues(t, unit, budget.SetLimit(0))
		limited(t, 2*unit)
		next, err := budget.Acquire(t.Context(), 2*unit)
		require.NoError(t, err)
		old.Release()
		next.Release()
		next, err = budget.Acquire(t.Context(), 2*unit)
		require.NoError(t, err, "no part was returned twice")
		next.Release()
	})
}

func TestLend(t *testing.T) {
	limited(t, 8*unit)
	require.EqualValues(t, 8*unit, budget.Limit())
	small := budget.Lend(10, 1)
	require.EqualValues(t, budget.Small, small.Bytes())
	first := budget.Lend(4*unit, unit)
	require.EqualValues(t, 4*unit, first.Bytes())
	second := budget.Lend(4*unit, unit)
	require.EqualValues(t, 2*unit, second.Bytes(), "a quarter is left to reads")
	third := budget.Lend(4*unit, unit)
	require.EqualValues(t, unit, third.Bytes(), "the least number in any case")
	read, err := budget.Acquire(t.Context(), 8*unit)
	require.NoError(t, err, "no other read has bytes")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = budget.Acquire(ctx, unit)
	require.ErrorIs(t, err, context.Canceled)
	done := make(chan error)
	go func() {
		next, err := budget.Acquire(t.Context(), 2*unit)
		next.Release()
		done <- err
	}()
	read.Release()
	require.NoError(t, <-done)
	for _, g := range []budget.Grant{small, first, second, third} {
		g.Release()
	}
	now, _ := budget.Held()
	require.Zero(t, now)
	again := budget.Lend(100*unit, unit)
	require.EqualValues(t, 6*unit, again.Bytes())
	again.Release()
}

func TestKeep(t *testing.T) {
	limited(t, 4*unit)
	var kept []budget.Grant
	defer budget.OnWait(func(n int64) {
		for ; n > 0 && len(kept) > 0; n -= unit {
			kept[0].Release()
			kept = kept[1:]
		}
	})()
	for range 4 {
		g, ok := budget.Keep(unit)
		require.True(t, ok)
		kept = append(kept, g)
	}
	_, ok := budget.Keep(unit)
	require.False(t, ok)
	read, err := budget.Acquire(t.Context(), 2*unit)
	require.NoError(t, err)
	require.Len(t, kept, 2, "the read took the place of two entries")
	lent := budget.Lend(unit, unit)
	require.Len(t, kept, 1)
	lent.Release()
	read.Release()
	kept[0].Release()
	kept = nil
	now, most := budget.Held()
	require.Zero(t, now)
	require.EqualValues(t, 4*unit, most)
}

func TestGet(t *testing.T) {
	for n := budget.Small; n < 64*budget.Small; n += 777 {
		b := budget.Get(n)
		require.Len(t, b, n)
		require.LessOrEqual(t, 4*cap(b), 5*n, "%d", n)
		budget.Put(b)
		require.GreaterOrEqual(t, cap(budget.Get(n)), n)
	}
	budget.Put(make([]byte, 3*budget.Small+1)) // not a size of Get
	require.Len(t, budget.Get(3*budget.Small+1), 3*budget.Small+1)
	small := make([]byte, 8, 16)
	require.Equal(t, &small[0], &budget.Grown(small, 16)[0])
	require.Len(t, budget.Grown(small, unit), unit)
}
