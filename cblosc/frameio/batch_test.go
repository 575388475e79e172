package frameio_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestWriter_WriteChunk_batch stores the chunks of batches in frames with frameio and with
// C-Blosc2, and reads them with C-Blosc2.
func TestWriter_WriteChunk_batch(t *testing.T) {
	const size, count = 2400, 7
	for _, typeSize := range []int{1, 3, 4, 8, 300} {
		for _, codec := range cblosc.Codecs() {
			for _, filter := range []cblosc.FilterID{cblosc.NoFilter, cblosc.Shuffle, cblosc.BitShuffle, cblosc.Delta} {
				for _, pooled := range []bool{false, true} {
					for _, rest := range []int{0, 600} {
						t.Run(fmt.Sprintf("%d/%v/%v/pool=%v/rest=%d", typeSize, codec, filter, pooled, rest), func(t *testing.T) {
							p := cblosc.DefaultCParams()
							p.TypeSize, p.Codec = typeSize, codec
							p.Filters = [cblosc.MaxFilters]cblosc.Filter{{ID: filter}}
							storeBatch(t, p, batchValues(size*count+rest), size, pooled)
						})
					}
				}
			}
		}
	}
}

// TestWriter_WriteChunk_batchRefused checks batch items that a frame cannot store. The frame must
// contain the other items.
func TestWriter_WriteChunk_batchRefused(t *testing.T) {
	p := cblosc.DefaultCParams() // elements of 8 bytes
	dict := cblosc.DefaultCParams()
	dict.Codec, dict.Dict = cblosc.Zstd, true
	for name, test := range map[string]struct {
		params           *cblosc.CParams
		chunk, item      int   // bytes of values
		frameio, library error // library: of SChunk.AppendChunk
	}{
		"empty":                  {p, 2400, 0, cblosc.ErrSize, cblosc.ErrSize},
		"longer than the chunks": {p, 2400, 4800, cblosc.ErrSize, cblosc.ErrSize},
		"part of an element":     {p, 2400, 604, cblosc.ErrSize, cblosc.ErrSize},
		"dictionary":             {dict, 240_000, 240_000, errors.ErrUnsupported, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := cblosc.NewCompressor(test.params)
			require.NoError(t, err)
			closing(t, c)
			src, chunks := &cblosc.Batch{}, &cblosc.Batch{}
			src.Append(testutil.Ramp(240_000, 2), testutil.Ramp(test.item, 3))
			require.NoError(t, c.CompressBatch(chunks, src))
			first := testutil.Ramp(test.chunk, 4)
			plain := chunkOf(t, p, first)

			dir := t.TempDir()
			w, err := frameio.Create(filepath.Join(dir, "frameio"), &frameio.Params{CParams: p, ChunkSize: len(first)})
			require.NoError(t, err)
			require.NoError(t, w.WriteChunk(plain))
			require.ErrorIs(t, w.WriteChunk(chunks.Item(1)), test.frameio)
			require.NoError(t, w.WriteChunk(plain))
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())
			require.EqualValues(t, 2, openFrame(t, filepath.Join(dir, "frameio")).NumChunks())

			s, err := cblosc.CreateSChunk(cblosc.Storage{Path: filepath.Join(dir, "library"), Contiguous: true, CParams: p})
			require.NoError(t, err)
			closing(t, s)
			require.NoError(t, s.AppendChunk(plain))
			require.ErrorIs(t, s.AppendChunk(chunks.Item(1)), test.library)
			require.NoError(t, s.AppendChunk(plain))
		})
	}
}

// batchValues returns n bytes of several kinds: rising, random, zeros, and one repeated byte.
func batchValues(n int) []byte {
	b := append(testutil.Ramp(n/4, 1), testutil.Noise(n/4, 2)...)
	b = append(b, make([]byte, n/4)...)
	for len(b) < n {
		b = append(b, 7)
	}
	return b
}

// storeBatch compresses values in a batch, stores the chunks in two frames and compares.
func storeBatch(t *testing.T, p *cblosc.CParams, values []byte, size int, pooled bool) {
	src, err := cblosc.NewBatch(values, size)
	require.NoError(t, err)
	var chunks cblosc.Batch
	if pooled {
		pool, err := cblosc.NewPool(p, nil)
		require.NoError(t, err)
		closing(t, pool)
		require.NoError(t, pool.CompressBatch(&chunks, src))
	} else {
		c, err := cblosc.NewCompressor(p)
		require.NoError(t, err)
		closing(t, c)
		require.NoError(t, c.CompressBatch(&chunks, src))
	}

	dir := t.TempDir()
	ours, library := filepath.Join(dir, "frameio"), filepath.Join(dir, "library")
	w, err := frameio.Create(ours, &frameio.Params{CParams: p, ChunkSize: size})
	require.NoError(t, err)
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: library, Contiguous: true, CParams: p})
	require.NoError(t, err)
	for i, b := range chunks.All() {
		require.NoError(t, w.WriteChunk(b), "chunk %d", i)
		require.NoError(t, s.AppendChunk(b), "chunk %d", i)
	}
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	require.NoError(t, s.Close())
	for _, path := range []string{ours, library} {
		s, err := cblosc.OpenSChunk(path)
		require.NoError(t, err)
		require.EqualValues(t, len(values), s.NBytes())
		got := make([]byte, 0, len(values))
		dst := make([]byte, size)
		for i := range s.NumChunks() {
			n, err := s.DecompressChunk(dst, i)
			require.NoError(t, err)
			got = append(got, dst[:n]...)
		}
		require.Equal(t, values, got, path)
		part := got[:len(values)-2*p.TypeSize] // all but the first and the last element
		require.NoError(t, s.ReadItems(part, 1))
		require.Equal(t, values[p.TypeSize:len(values)-p.TypeSize], part, path)
		require.NoError(t, s.Close())
		got = make([]byte, len(values))
		require.NoError(t, openFrame(t, path).ReadAll(t.Context(), got, 1))
		require.Equal(t, values, got, path)
	}
}
