package cblosc_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestArray_appendToFile checks that several arrays in one file can be opened at the returned
// offsets.
func TestArray_appendToFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for i, st := range []cblosc.Storage{{CParams: cparams(4), Contiguous: true}, {CParams: cparams(4)}} {
		want := testutil.Ramp(9*8*4, uint64(i))
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{9, 8}, ChunkShape: []int32{4, 5}, Blocks: []int32{2, 3}, DType: "<i4", Storage: st})
		require.NoError(t, err)
		require.NoError(t, a.WriteRegion(want, []int64{0, 0}, []int64{9, 8}))
		offset, err := a.AppendToFile(path)
		require.NoError(t, err)
		require.Equal(t, i > 0, offset > 0)
		_, err = a.AppendToFile("")
		require.ErrorIs(t, err, cblosc.ErrParam)
		require.NoError(t, a.Close())
		_, err = a.AppendToFile(path)
		require.ErrorIs(t, err, cblosc.ErrClosed)
		b, err := cblosc.OpenArrayWith(path, cblosc.OpenOptions{Offset: offset})
		require.NoError(t, err)
		got := make([]byte, len(want))
		require.NoError(t, b.ReadAll(got))
		require.Equal(t, want, got)
		require.NoError(t, b.Close())
	}
}

// TestRefreshArray checks that changes through one handle are visible through another after
// Refresh.
func TestRefreshArray(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{8}, ChunkShape: []int32{4}, Blocks: []int32{2},
		Storage: cblosc.Storage{CParams: cparams(4), Contiguous: true, Path: path}})
	require.NoError(t, err)
	closing(t, a)
	b, err := cblosc.OpenArray(path)
	require.NoError(t, err)
	require.NoError(t, a.Resize([]int64{16}))
	require.NoError(t, a.WriteRegion(testutil.Ramp(64, 5), []int64{0}, []int64{16}))
	require.NoError(t, b.Refresh())
	require.Equal(t, []int64{16}, b.Shape())
	got := make([]byte, 64)
	require.NoError(t, b.ReadAll(got))
	require.Equal(t, testutil.Ramp(64, 5), got)
	require.NoError(t, b.Close())
	require.ErrorIs(t, b.Refresh(), cblosc.ErrClosed)
}

// TestSChunk_readPoints checks that ReadPoints returns the same items as ReadItems, in any order.
func TestSChunk_readPoints(t *testing.T) {
	for _, size := range []int{4, 300} {
		p := cparams(size)
		p.BlockSize = map[int]int{4: 64}[size]
		for name, st := range storages(t, p) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			for i := range 3 {
				require.NoError(t, s.AppendBuffer(testutil.Ramp(size*(100-i/2*30), uint64(i))))
			}
			items := []int64{0, 269, 7, 100, 7, 99, 200}
			got, want := make([]byte, size*len(items)), make([]byte, size*len(items))
			require.NoError(t, s.ReadPoints(got, items), name)
			for k, i := range items {
				require.NoError(t, s.ReadItems(want[k*size:(k+1)*size], i))
			}
			require.Equal(t, want, got, "%s, %d bytes", name, size)
			require.NoError(t, s.ReadPoints(nil, nil))
			require.ErrorIs(t, s.ReadPoints(got, items[1:]), cblosc.ErrSize)
			require.ErrorIs(t, s.ReadPoints(got[:size], []int64{270}), cblosc.ErrRegion)
			require.ErrorIs(t, s.ReadPoints(got[:size], []int64{-1}), cblosc.ErrRegion)
			require.NoError(t, s.Close())
			require.ErrorIs(t, s.ReadPoints(nil, nil), cblosc.ErrClosed)
		}
	}
}

// TestSChunk_chunkFileNumbers checks a sparse frame in which only the last of three chunks of one
// byte is left, so that its file number is 2.
func TestSChunk_chunkFileNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	p := cparams(1)
	p.Level = 0
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: p, Path: path})
	require.NoError(t, err)
	for i := range byte(3) {
		require.NoError(t, s.AppendBuffer([]byte{i + 1}))
	}
	require.NoError(t, s.DeleteChunk(0))
	require.NoError(t, s.DeleteChunk(0))
	require.NoError(t, s.Close())
	s, err = cblosc.OpenSChunk(path)
	if systemLibs && err != nil {
		return // the system's C-Blosc2 has the bug
	}
	require.NoError(t, err)
	closing(t, s)
	got := make([]byte, 1)
	_, err = s.DecompressChunk(got, 0)
	require.NoError(t, err)
	require.Equal(t, []byte{3}, got)
}
