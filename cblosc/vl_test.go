package cblosc_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestVLBlocks checks that blocks of any length can be decompressed, all at once or one by one.
func TestVLBlocks(t *testing.T) {
	c, d := newCompressor(t, cparams(4)), newDecompressor(t)
	src := new(cblosc.Batch)
	src.Append(testutil.Ramp(400, 1), testutil.Noise(4, 2), make([]byte, 8000), testutil.Ramp(40_000, 3))
	b, err := c.CompressVL(src)
	require.NoError(t, err)
	n, err := cblosc.VLBlocks(b)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	info, err := cblosc.Info(b)
	require.NoError(t, err)
	require.Equal(t, 48_404, info.NBytes)
	made, requested := info.CParams(), cparams(4)
	require.Equal(t, []any{requested.Codec, requested.Filters, 4, 0}, []any{made.Codec, made.Filters, made.TypeSize, made.BlockSize})
	got := new(cblosc.Batch)
	got.Append([]byte("before"))
	require.NoError(t, d.DecompressVL(got, b))
	require.Equal(t, 5, got.Len())
	for i := range n {
		require.Equal(t, src.Item(i), got.Item(i+1))
		one, err := d.VLBlock(b, i)
		require.NoError(t, err)
		require.Equal(t, src.Item(i), one)
	}

	for _, i := range []int{-1, 4} {
		_, err = d.VLBlock(b, i)
		require.ErrorIs(t, err, cblosc.ErrRegion)
	}
	_, err = cblosc.VLBlocks(b[:len(b)-1])
	require.ErrorIs(t, err, cblosc.ErrFormat)
	require.ErrorIs(t, d.DecompressVL(got, b[:40]), cblosc.ErrFormat)
	_, err = cblosc.VLBlocks(compress(t, cparams(4), testutil.Ramp(400, 1)))
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = d.Decompress(make([]byte, 50_000), b)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = c.CompressVL(new(cblosc.Batch))
	require.ErrorIs(t, err, cblosc.ErrSize)
	src.Append([]byte{1, 2, 3})
	_, err = c.CompressVL(src)
	require.ErrorIs(t, err, cblosc.ErrSize)
}

// TestVL_frame checks a frame of such chunks that C-Blosc2 wrote.
func TestVL_frame(t *testing.T) {
	path := testenv.Files(t, testenv.Corpus, "blosc2/vlblocks-lz4-fixed-3.0.0.b2frame")[0]
	s, err := cblosc.OpenSChunk(path)
	require.NoError(t, err)
	closing(t, s)
	total := 0
	for i := range s.NumChunks() {
		for j := 0; ; j++ {
			b, err := s.VLBlock(i, j)
			if errors.Is(err, cblosc.ErrRegion) {
				require.Positive(t, j)
				break
			}
			require.NoError(t, err)
			total += len(b)
		}
	}
	require.EqualValues(t, s.NBytes(), total)
	_, err = s.DecompressChunk(make([]byte, 10_000), 0)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = s.VLBlock(s.NumChunks(), 0)
	require.ErrorIs(t, err, cblosc.ErrRegion)
	require.ErrorIs(t, s.AppendBuffer(make([]byte, 4)), cblosc.ErrReadOnly)
}
