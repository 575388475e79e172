package cblosc_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// newPool returns a pool that the test closes.
func newPool(t testing.TB, cp *cblosc.CParams, dp *cblosc.DParams) *cblosc.Pool {
	p, err := cblosc.NewPool(cp, dp)
	require.NoError(t, err)
	closing(t, p)
	return p
}

// zeroChunk returns a chunk of at most 33 bytes that expands to n zero bytes.
func zeroChunk(t testing.TB, n int) []byte {
	b, err := newPool(t, cparams(4), nil).AppendCompressed(nil, make([]byte, n))
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), 33)
	return b
}

func TestPool_AppendCompressed(t *testing.T) {
	p := newPool(t, cparams(4), nil)
	one := newCompressor(t, cparams(4))
	for _, data := range [][]byte{nil, {1}, testutil.Ramp(10_000, 1), testutil.Noise(999, 2)} {
		want := make([]byte, cblosc.MaxCompressedSize(len(data)))
		n, err := one.Compress(want, data)
		require.NoError(t, err)
		for _, room := range []int{0, 5, 100_000} {
			dst := append(make([]byte, 0, 3+room), "abc"...)
			dst = append(dst, bytes.Repeat([]byte{0xAA}, room)...)[:3]
			chunk, err := p.AppendCompressed(dst, data)
			require.NoError(t, err)
			require.Equal(t, append([]byte("abc"), want[:n]...), chunk)
			back, err := p.AppendDecompressed([]byte("xy"), chunk[3:])
			require.NoError(t, err)
			require.Equal(t, append([]byte("xy"), data...), back)
		}
	}
	t.Run("errors", func(t *testing.T) {
		dst := []byte("abc")
		got, err := p.AppendDecompressed(dst, []byte("no chunk"))
		require.ErrorIs(t, err, cblosc.ErrFormat)
		require.Equal(t, "abc", string(got))
		chunk, err := p.AppendCompressed(nil, testutil.Ramp(1000, 1))
		require.NoError(t, err)
		got, err = p.AppendDecompressed(dst, chunk[:len(chunk)-1])
		require.Error(t, err)
		require.Equal(t, "abc", string(got))
	})
	t.Run("closed", func(t *testing.T) {
		p, err := cblosc.NewPool(nil, nil)
		require.NoError(t, err)
		require.NoError(t, p.Close())
		got, err := p.AppendCompressed([]byte("a"), nil)
		require.ErrorIs(t, err, cblosc.ErrClosed)
		require.Equal(t, "a", string(got))
		_, err = p.AppendDecompressed(nil, nil)
		require.ErrorIs(t, err, cblosc.ErrClosed)
		err = p.CompressEach(t.Context(), make([][]byte, 3), make([][]byte, 3))
		require.ErrorIs(t, err, cblosc.ErrClosed)
	})
}

func TestDParams_MaxBytes(t *testing.T) {
	chunk := zeroChunk(t, 1000)
	d, err := cblosc.NewDecompressor(&cblosc.DParams{MaxBytes: 999})
	require.NoError(t, err)
	closing(t, d)
	_, err = d.Decompress(make([]byte, 1000), chunk)
	require.ErrorIs(t, err, cblosc.ErrLimit)
	require.ErrorContains(t, err, "got 1000 bytes, want at most 999")
	dst := batchOf([]byte("old"))
	require.ErrorIs(t, d.DecompressBatch(dst, batchOf(zeroChunk(t, 500), zeroChunk(t, 500))), cblosc.ErrLimit)
	require.Zero(t, dst.Len())
	require.NoError(t, d.DecompressBatch(dst, batchOf(zeroChunk(t, 500), zeroChunk(t, 499))))

	vl, err := newCompressor(t, cparams(1)).CompressVL(batchOf(make([]byte, 600), make([]byte, 600)))
	require.NoError(t, err)
	require.ErrorIs(t, d.DecompressVL(dst, vl), cblosc.ErrLimit)

	p := newPool(t, nil, &cblosc.DParams{MaxBytes: 1000})
	_, err = p.AppendDecompressed(nil, chunk)
	require.NoError(t, err)
	most := zeroChunk(t, 1<<30)
	allocated := testing.AllocsPerRun(1, func() {
		_, err = p.AppendDecompressed(nil, most)
	})
	require.ErrorIs(t, err, cblosc.ErrLimit)
	require.Less(t, allocated, 50.0)

	_, err = cblosc.NewPool(nil, &cblosc.DParams{MaxBytes: -1})
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.CreateSChunk(cblosc.Storage{DParams: &cblosc.DParams{MaxBytes: 5}})
	require.ErrorIs(t, err, cblosc.ErrParam)
}

func TestPool_CompressEach(t *testing.T) {
	p := newPool(t, cparams(4), nil)
	const n = 200
	src, chunks, back := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i := range src {
		src[i] = testutil.Ramp(i*37, uint64(i))
		chunks[i] = bytes.Repeat([]byte{0xAA}, i)[:i%3]
	}
	require.NoError(t, p.CompressEach(t.Context(), chunks, src))
	one := newCompressor(t, cparams(4))
	for i, chunk := range chunks {
		want := make([]byte, cblosc.MaxCompressedSize(len(src[i])))
		m, err := one.Compress(want, src[i])
		require.NoError(t, err)
		require.Equal(t, append(bytes.Repeat([]byte{0xAA}, i%3), want[:m]...), chunk)
		chunks[i] = chunk[i%3:]
	}
	require.NoError(t, p.DecompressEach(t.Context(), back, chunks))
	for i := range src {
		require.True(t, bytes.Equal(src[i], back[i]), i)
	}
	require.NoError(t, p.CompressEach(t.Context(), nil, nil))

	t.Run("errors of items", func(t *testing.T) {
		damaged := append([][]byte(nil), chunks...)
		damaged[3], damaged[150] = []byte("no chunk"), nil
		back := make([][]byte, n)
		err := p.DecompressEach(t.Context(), back, damaged)
		items, ok := errors.AsType[cblosc.ItemErrors](err)
		require.True(t, ok)
		require.Len(t, items, 2)
		require.ErrorIs(t, items[3], cblosc.ErrFormat)
		require.ErrorIs(t, err, cblosc.ErrFormat)
		require.ErrorContains(t, err, "2 items failed, the first: cblosc: decompress item 3 of 200: ")
		require.Nil(t, back[150])
		require.True(t, bytes.Equal(src[199], back[199]))
	})
	t.Run("limit", func(t *testing.T) {
		p := newPool(t, nil, &cblosc.DParams{MaxBytes: 1000})
		back := make([][]byte, 4)
		err := p.DecompressEach(t.Context(), back, [][]byte{zeroChunk(t, 600), zeroChunk(t, 600), zeroChunk(t, 400), zeroChunk(t, 1)})
		items, _ := errors.AsType[cblosc.ItemErrors](err)
		require.Len(t, items, 2)
		require.ErrorIs(t, items[1], cblosc.ErrLimit)
		require.ErrorIs(t, items[3], cblosc.ErrLimit)
		require.Len(t, back[0], 600)
		require.Len(t, back[2], 400)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		dst := make([][]byte, n)
		err := p.CompressEach(ctx, dst, src)
		items, _ := errors.AsType[cblosc.ItemErrors](err)
		require.Len(t, items, n)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, make([][]byte, n), dst)
	})
	t.Run("lengths", func(t *testing.T) {
		require.ErrorIs(t, p.CompressEach(t.Context(), make([][]byte, 2), src), cblosc.ErrParam)
		require.ErrorIs(t, p.DecompressEach(t.Context(), make([][]byte, 2), src), cblosc.ErrParam)
	})
	t.Run("many callers", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				back := make([][]byte, n)
				if err := p.DecompressEach(t.Context(), back, chunks); err != nil {
					t.Error(err)
				}
				if !bytes.Equal(back[n-1], src[n-1]) {
					t.Error("other data")
				}
			})
		}
		wg.Wait()
	})
	t.Run("one error", func(t *testing.T) {
		err := p.DecompressEach(t.Context(), make([][]byte, 1), [][]byte{nil})
		require.ErrorContains(t, err, "decompress item 0 of 1: ")
		require.NotContains(t, err.Error(), "items failed")
	})
}
