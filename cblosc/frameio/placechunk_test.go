package frameio_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
)

// TestArrayWriter_PlaceChunk writes the index of an array whose chunk files come from another one.
func TestArrayWriter_PlaceChunk(t *testing.T) {
	dir := t.TempDir()
	params := cblosc.ArrayParams{
		Shape: []int64{4, 100}, ChunkShape: []int32{1, 100}, Blocks: []int32{1, 50}, DType: "<i4",
		Storage: cblosc.Storage{CParams: &cblosc.CParams{TypeSize: 4, Codec: cblosc.LZ4, Level: 5}},
	}
	data := make([]byte, 4*400)
	for i := range data[:3*400] {
		data[i] = byte(i * i)
	}
	clear(data[400:800]) // chunk 1 is special, and chunk 3 too
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	zerosArray(t, from, params)
	zerosArray(t, to, params)
	w, err := frameio.WriteArray(from, nil)
	require.NoError(t, err)
	require.NoError(t, w.WriteRegion(context.Background(), data, []int64{0, 0}, []int64{4, 100}, 1))
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	want := files(t, from)
	size := func(name string) int64 { return int64(len(want["/"+name])) }

	w, err = frameio.WriteArray(to, nil)
	require.NoError(t, err)
	require.NoError(t, w.PlaceChunk(0, 0, size("00000000.chunk"), cblosc.NotSpecial))
	require.NoError(t, w.PlaceChunk(1, 0, 0, cblosc.Zeros))
	require.NoError(t, w.PlaceChunk(2, 1, size("00000001.chunk"), cblosc.NotSpecial))
	require.True(t, w.HasChunk(1))
	require.ErrorIs(t, w.PlaceChunk(0, 2, 100, cblosc.NotSpecial), cblosc.ErrParam)
	require.ErrorIs(t, w.PlaceChunk(3, -1, 100, cblosc.NotSpecial), cblosc.ErrParam)
	require.ErrorIs(t, w.PlaceChunk(4, 2, 100, cblosc.NotSpecial), cblosc.ErrRegion)
	require.ErrorIs(t, w.PlaceChunk(3, 2, 31, cblosc.NotSpecial), cblosc.ErrSize)
	require.ErrorIs(t, w.PlaceChunk(3, 2, 1000, cblosc.NotSpecial), cblosc.ErrSize)
	require.NoError(t, w.Commit())
	require.ErrorIs(t, w.PlaceChunk(3, 2, 100, cblosc.NotSpecial), cblosc.ErrClosed)
	require.NoError(t, w.Close())
	for _, name := range []string{"00000000.chunk", "00000001.chunk"} {
		require.NoError(t, os.Link(filepath.Join(from, name), filepath.Join(to, name)))
	}
	require.Equal(t, want, files(t, to))

	t.Run("contiguous frame", func(t *testing.T) {
		params.Storage.Contiguous = true
		file := filepath.Join(dir, "file")
		zerosArray(t, file, params)
		w, err := frameio.WriteArray(file, nil)
		require.NoError(t, err)
		require.ErrorIs(t, w.PlaceChunk(0, 0, 100, cblosc.NotSpecial), cblosc.ErrParam)
		require.NoError(t, w.Close())
	})
}
