package frameio_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
)

// TestMapped checks that a mapped frame returns the same data as one that is read, and that the
// caller owns the returned data.
func TestMapped(t *testing.T) {
	f, all := newFrame(t, 300, 4096)
	m, err := frameio.OpenMapped(f.Path(), nil)
	require.NoError(t, err)
	got := make([]byte, len(all))
	require.NoError(t, m.ReadAll(t.Context(), got, 3))
	require.True(t, bytes.Equal(all, got))
	var kept [][]byte
	for i := range m.NumChunks() {
		want, err := f.Chunk(nil, i)
		require.NoError(t, err)
		c, err := m.Chunk(make([]byte, 10), i)
		require.NoError(t, err)
		require.Equal(t, want, c)
		kept = append(kept, c)
		items := make([]byte, 40)
		_, err = m.Items(items, i, 500, 10)
		require.NoError(t, err)
		require.Equal(t, all[i*4096+2000:][:40], items)
	}
	require.NoError(t, m.Close())
	runtime.GC()
	for i, c := range kept {
		want, err := f.Chunk(nil, int64(i))
		require.NoError(t, err)
		require.Equal(t, want, c)
	}
	_, err = m.Decompress(got, 0)
	require.ErrorIs(t, err, cblosc.ErrClosed)
	require.ErrorIs(t, m.Close(), cblosc.ErrClosed)
}

func TestMappedArray(t *testing.T) {
	notOnWindows(t, "delete a mapped file before a garbage collection")
	a, all := newArray(t, true, []int64{300, 280}, []int32{128, 256}, []int32{16, 32})
	f, err := frameio.OpenMapped(a.Path(), nil)
	require.NoError(t, err)
	m, err := f.Array()
	require.NoError(t, err)
	closing(t, m)
	for _, r := range [][2][]int64{{{0, 0}, {300, 280}}, {{140, 33}, {1, 1}}, {{120, 0}, {20, 280}}} {
		want := cut(all, []int64{300, 280}, r[0], r[1], 4)
		got := make([]byte, len(want))
		require.NoError(t, m.ReadRegion(t.Context(), got, r[0], r[1], 2))
		require.True(t, bytes.Equal(want, got), "%v", r)
	}
}

// TestMapped_closeWhileReading checks that Close keeps the mapping until all running reads have
// finished.
func TestMapped_closeWhileReading(t *testing.T) {
	f, all := newFrame(t, 200, 4096)
	for range 5 {
		m, err := frameio.OpenMapped(f.Path(), nil)
		require.NoError(t, err)
		var g sync.WaitGroup
		for k := range 64 {
			g.Go(func() {
				dst := make([]byte, 4096)
				for i := int64(k); ; i = (i + 7) % 200 {
					_, err := m.Decompress(dst, i)
					if errors.Is(err, cblosc.ErrClosed) {
						return
					}
					if err != nil || !bytes.Equal(dst, all[i*4096:][:4096]) {
						t.Errorf("chunk %d: %v", i, err)
						return
					}
				}
			})
		}
		require.NoError(t, m.Close())
		runtime.GC()
		g.Wait()
	}
}

func TestMappedRefuses(t *testing.T) {
	_, err := frameio.OpenMapped(filepath.Join(t.TempDir(), "none"), nil)
	require.Error(t, err)
	a, _ := newArray(t, false, []int64{30}, []int32{10}, []int32{5})
	_, err = frameio.OpenMapped(a.Path(), nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
