package ndarray_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// counting records the numbers of workers of its calls.
type counting struct {
	ndarray.Backend
	mu   sync.Mutex
	seen []int
}

func (l *counting) add(workers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, workers)
}

func (l *counting) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	l.add(workers)
	return l.Backend.ReadRegion(ctx, dst, r, workers)
}

func (l *counting) WriteRegion(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	l.add(workers)
	return l.Backend.(ndarray.RegionWriter).WriteRegion(ctx, src, r, workers)
}

func TestArray_SetWorkers(t *testing.T) {
	shape := []int64{8, 4}
	open := func() (*ndarray.Array, *counting) {
		b, err := mem.New(ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int16](), ChunkShape: []int64{2, 4}})
		require.NoError(t, err)
		l := &counting{Backend: b}
		a, err := ndarray.New(l)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		return a, l
	}
	ctx, whole, buf := t.Context(), ndarray.Whole(shape), make([]byte, 64)
	seen := func(l *counting) []int {
		defer func() { l.seen = nil }()
		return l.seen
	}
	a, l := open()
	require.NoError(t, a.Read(ctx, buf, whole))
	require.Equal(t, []int{0}, seen(l), "GOMAXPROCS")
	a.SetWorkers(3)
	v, err := ndarray.View(a, ndarray.Select(ndarray.Span(1, 5)))
	require.NoError(t, err)
	require.NoError(t, a.Read(ctx, buf, whole))
	require.NoError(t, a.Write(ctx, buf, whole))
	require.NoError(t, a.Take(ctx, buf, ndarray.Selection{}))
	require.NoError(t, a.Put(ctx, buf, ndarray.Selection{}))
	require.NoError(t, v.Read(ctx, buf[:32], ndarray.Whole(v.Shape())))
	require.Equal(t, []int{3, 3, 3, 3, 3}, seen(l))
	require.NoError(t, a.ReadRegion(ctx, buf, whole, 2))
	require.NoError(t, a.ReadRegion(ctx, buf, whole, -1))
	require.Equal(t, []int{2, 0}, seen(l))
	a.SetWorkers(-1)
	require.NoError(t, a.Read(ctx, buf, whole))
	require.Equal(t, []int{0}, seen(l))

	to, into := open()
	stats, err := ndarray.Copy(ctx, to, a, &ndarray.CopyOptions{Workers: 9})
	require.NoError(t, err)
	for _, l := range []*counting{l, into} {
		for _, n := range seen(l) {
			require.Equal(t, 9/stats.Workers, n)
		}
	}
}
