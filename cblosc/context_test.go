package cblosc_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestRoundTrip checks that data can be decompressed unchanged for every lossless combination of
// parameters.
func TestRoundTrip(t *testing.T) {
	d := newDecompressor(t)
	rapid.Check(t, func(t *rapid.T) {
		p := &cblosc.CParams{
			Codec:     rapid.SampledFrom(cblosc.Codecs()).Draw(t, "codec"),
			Level:     rapid.IntRange(0, 9).Draw(t, "level"),
			TypeSize:  rapid.SampledFrom([]int{1, 2, 3, 4, 7, 8, 16, 17, 255, 256, 300}).Draw(t, "type size"),
			BlockSize: rapid.SampledFrom([]int{0, 0, 1, 64, 1000, 4096}).Draw(t, "block size"),
			Threads:   rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "threads"),
			Split:     cblosc.SplitMode(rapid.IntRange(1, 4).Draw(t, "split")),
		}
		p.Filters[4].ID = rapid.SampledFrom([]cblosc.FilterID{cblosc.NoFilter, cblosc.Delta}).Draw(t, "filter 4")
		p.Filters[5].ID = rapid.SampledFrom([]cblosc.FilterID{cblosc.NoFilter, cblosc.Shuffle, cblosc.BitShuffle}).Draw(t, "filter 5")
		n := rapid.IntRange(0, 20000).Draw(t, "bytes")
		if p.Filters[4].ID == cblosc.Delta {
			n -= n % p.TypeSize
		}
		src := testutil.Ramp(n, rapid.Uint64Range(0, 9).Draw(t, "seed"))
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			src = testutil.Noise(n, 1)
		case 1:
			src = make([]byte, n)
		}
		c, err := cblosc.NewCompressor(p)
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		require.Equal(t, *p, c.CParams())
		for range 2 { // a context must work for a second chunk
			chunk := make([]byte, cblosc.MaxCompressedSize(n))
			m, err := c.Compress(chunk, src)
			require.NoError(t, err)
			dst := make([]byte, n+3)
			got, err := d.Decompress(dst, chunk[:m])
			require.NoError(t, err)
			require.Equal(t, n, got)
			require.Equal(t, src, dst[:got])
			require.Equal(t, []byte{0, 0, 0}, dst[n:], "bytes behind the data")
		}
	})
}

func TestContext_reproducible(t *testing.T) {
	src := testutil.Ramp(1<<20, 7)
	for _, codec := range cblosc.Codecs() {
		p := cparams(4)
		p.Codec = codec
		require.Equal(t, compress(t, p, src), compress(t, p, src), "%v", codec)
	}
}

// TestContext_Independent checks that a chunk depends neither on the data that its context
// compressed before, nor on the size of the destination.
func TestContext_Independent(t *testing.T) {
	for _, size := range []int{4, 300} {
		p := cparams(size)
		for _, block := range []int{0, 6000} {
			p.BlockSize = block
			c := newCompressor(t, p)
			for _, n := range []int{100_200, 1, 100_200, 100_200, 600, 50_400, 31, 33} {
				src := testutil.Ramp(n, 1)
				want := compress(t, p, src)
				dst := make([]byte, 2*n+100)
				m, err := c.Compress(dst, src)
				require.NoError(t, err)
				require.Equal(t, want, dst[:m], "%d bytes of elements of %d", n, size)
				_, err = c.Compress(dst[:10], src)
				require.ErrorIs(t, err, cblosc.ErrSize)
			}
		}
	}
}

func TestCompressSizes(t *testing.T) {
	c := newCompressor(t, nil)
	src := testutil.Noise(1000, 3)
	for _, n := range []int{0, 1, 31, 32, 500, 1031} {
		_, err := c.Compress(make([]byte, n), src)
		require.ErrorIs(t, err, cblosc.ErrSize, "%d bytes", n)
		require.ErrorContains(t, err, fmt.Sprintf("%d bytes for the chunk of 1000, at most 1032 are needed", n))
	}
	_, err := c.Compress(nil, src)
	require.ErrorIs(t, err, cblosc.ErrSize)
	n, err := c.Compress(make([]byte, 1032), src)
	require.NoError(t, err)
	require.Equal(t, 1032, n)
}

func TestDecompressSizes(t *testing.T) {
	d := newDecompressor(t)
	chunk := compress(t, nil, testutil.Ramp(1000, 1))
	for _, n := range []int{0, 999} {
		_, err := d.Decompress(make([]byte, n), chunk)
		require.ErrorIs(t, err, cblosc.ErrSize)
		require.ErrorContains(t, err, fmt.Sprintf("%d bytes, the chunk holds 1000", n))
	}
	for _, n := range []int{0, 1, 15, 16, 31, 32, len(chunk) - 1} {
		_, err := d.Decompress(make([]byte, 1000), chunk[:n])
		require.ErrorIs(t, err, cblosc.ErrFormat, "%d bytes of the chunk", n)
	}
	n, err := d.Decompress(make([]byte, 1000), append(chunk, "behind"...))
	require.NoError(t, err)
	require.Equal(t, 1000, n)
}

func TestItems(t *testing.T) {
	d := newDecompressor(t)
	src := testutil.Ramp(4000, 5)
	chunk := compress(t, cparams(4), src)
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.IntRange(0, 1000).Draw(t, "start")
		n := rapid.IntRange(0, 1000-start).Draw(t, "n")
		dst := make([]byte, 4*n)
		got, err := d.Items(dst, chunk, start, n)
		require.NoError(t, err)
		require.Equal(t, 4*n, got)
		require.Equal(t, src[4*start:4*start+4*n], dst)
	})
	for _, r := range [][2]int{{-1, 1}, {0, 1001}, {1000, 1}, {1001, 0}, {5, -1}, {1, 1 << 62}} {
		_, err := d.Items(make([]byte, 4), chunk, r[0], r[1])
		require.ErrorIs(t, err, cblosc.ErrRegion, "%v", r)
	}
	_, err := d.Items(make([]byte, 5), chunk, 0, 1)
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "5 bytes, 1 items have 4")
	_, err = d.Items(nil, chunk[:20], 0, 0)
	require.ErrorIs(t, err, cblosc.ErrFormat)
}

func TestClosedContexts(t *testing.T) {
	c, err := cblosc.NewCompressor(nil)
	require.NoError(t, err)
	d, err := cblosc.NewDecompressor(nil)
	require.NoError(t, err)
	chunk := compress(t, nil, testutil.Ramp(100, 1))
	require.NoError(t, c.Close())
	require.NoError(t, d.Close())
	require.ErrorIs(t, c.Close(), cblosc.ErrClosed)
	require.ErrorIs(t, d.Close(), cblosc.ErrClosed)
	_, err = c.Compress(make([]byte, 100), make([]byte, 10))
	require.ErrorIs(t, err, cblosc.ErrClosed)
	_, err = d.Decompress(make([]byte, 100), chunk)
	require.ErrorIs(t, err, cblosc.ErrClosed)
	_, err = d.Items(make([]byte, 8), chunk, 0, 1)
	require.ErrorIs(t, err, cblosc.ErrClosed)
	var e *cblosc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "read items", e.Op)
	require.Equal(t, "cblosc: read items: already closed", err.Error())
}

func TestContext_Allocations(t *testing.T) {
	c, d := newCompressor(t, nil), newDecompressor(t)
	src := testutil.Ramp(4096, 1)
	chunk, dst := make([]byte, cblosc.MaxCompressedSize(len(src))), make([]byte, len(src))
	n := 0
	require.Zero(t, testing.AllocsPerRun(100, func() { n, _ = c.Compress(chunk, src) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = d.Decompress(dst, chunk[:n]) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = d.Items(dst[:8], chunk[:n], 1, 1) }))
	require.Equal(t, src[8:16], dst[:8])
}

// TestManyGoroutines checks 64 goroutines with one context and one pool. Results must be correct,
// and a concurrent Close may only make calls return ErrClosed.
func TestManyGoroutines(t *testing.T) {
	pool, err := cblosc.NewPool(cparams(4), nil)
	require.NoError(t, err)
	shared, err := cblosc.NewDecompressor(nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			src := testutil.Ramp(3000+g, uint64(g))
			chunk, dst := make([]byte, cblosc.MaxCompressedSize(len(src))), make([]byte, len(src))
			for range 20 {
				n, err := pool.Compress(chunk, src)
				if !errors.Is(err, cblosc.ErrClosed) && !(err == nil && decompresses(pool, dst, chunk[:n], src) && decompresses(shared, dst, chunk[:n], src)) {
					t.Errorf("goroutine %d: %v", g, err)
				}
				clear(dst)
			}
			if g == 63 { // the other goroutines may still be running
				if err := errors.Join(pool.Close(), shared.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.ErrorIs(t, pool.Close(), cblosc.ErrClosed)
	_, err = pool.Compress(nil, nil)
	require.ErrorIs(t, err, cblosc.ErrClosed)
	_, err = pool.Decompress(nil, nil)
	require.ErrorIs(t, err, cblosc.ErrClosed)
}

// decompresses reports whether chunk decompresses to want, or d was closed.
func decompresses(d interface {
	Decompress(dst, chunk []byte) (int, error)
}, dst, chunk, want []byte) bool {
	n, err := d.Decompress(dst, chunk)
	return errors.Is(err, cblosc.ErrClosed) || err == nil && string(dst[:n]) == string(want)
}

func TestPool_Reuse(t *testing.T) {
	pool, err := cblosc.NewPool(nil, nil)
	require.NoError(t, err)
	closing(t, pool)
	src := testutil.Ramp(4096, 1)
	chunk, dst := make([]byte, cblosc.MaxCompressedSize(len(src))), make([]byte, len(src))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		n, _ := pool.Compress(chunk, src)
		_, _ = pool.Decompress(dst, chunk[:n])
	}))
	require.Equal(t, src, dst)
	_, err = pool.Compress(nil, src)
	require.ErrorIs(t, err, cblosc.ErrSize)
	_, err = pool.Decompress(nil, src)
	require.ErrorIs(t, err, cblosc.ErrFormat)
}
