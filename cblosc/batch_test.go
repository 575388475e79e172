package cblosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/guard"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

func batchOf(items ...[]byte) *cblosc.Batch {
	b := new(cblosc.Batch)
	b.Append(items...)
	return b
}

// batcher has the common methods of a context and a pool.
type batcher struct {
	name       string
	compress   func(dst, src *cblosc.Batch) error
	decompress func(dst, chunks *cblosc.Batch) error
}

func batchers(t testing.TB, p *cblosc.CParams) []batcher {
	c, d := newCompressor(t, p), newDecompressor(t)
	pool, err := cblosc.NewPool(p, nil)
	require.NoError(t, err)
	closing(t, pool)
	return []batcher{
		{"context", c.CompressBatch, d.DecompressBatch},
		{"pool", pool.CompressBatch, pool.DecompressBatch},
	}
}

// TestBatches checks that each chunk of a batch is identical to the output of Compress, and that
// each item decompresses to the original.
func TestBatches(t *testing.T) {
	p := cparams(4)
	one := newCompressor(t, p)
	for _, b := range batchers(t, p) {
		t.Run(b.name, func(t *testing.T) {
			chunks, back := new(cblosc.Batch), new(cblosc.Batch)
			rapid.Check(t, func(t *rapid.T) {
				src := new(cblosc.Batch)
				n := rapid.IntRange(0, 40).Draw(t, "items")
				most := rapid.SampledFrom([]int{10, 500, 20_000}).Draw(t, "most bytes")
				var items [][]byte
				for i := range n {
					item := testutil.Ramp(rapid.IntRange(0, most).Draw(t, "bytes"), uint64(i))
					if rapid.IntRange(0, 4).Draw(t, "noise") == 0 {
						item = testutil.Noise(len(item), 1)
					}
					items = append(items, item)
				}
				src.Append(items...)
				require.NoError(t, b.compress(chunks, src))
				require.Equal(t, n, chunks.Len())
				buf := make([]byte, cblosc.MaxCompressedSize(most))
				for i, got := range chunks.All() {
					m, err := one.Compress(buf, items[i])
					require.NoError(t, err)
					require.Equal(t, buf[:m], got, "item %d", i)
				}
				require.NoError(t, b.decompress(back, chunks))
				require.Equal(t, n, back.Len())
				require.Equal(t, len(src.Bytes()), len(back.Bytes()))
				for i, got := range back.All() {
					require.True(t, bytes.Equal(items[i], got), "item %d", i)
				}
			})
		})
	}
}

// TestPlainChunks checks that the full check accepts all bytes that the quick check accepts, and
// that the quick check accepts ordinary chunks.
func TestPlainChunks(t *testing.T) {
	good := map[bool][]byte{false: compress(t, cparams(4), testutil.Ramp(4096, 1)), true: compress(t, cparams(4), testutil.Noise(4096, 1))}
	for _, b := range good {
		n, size, ok := guard.Ordinary(b)
		require.True(t, ok)
		require.Equal(t, 4096, n)
		require.Len(t, b, size)
	}
	interesting := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255}
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(good[rapid.Bool().Draw(t, "stored")])
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			b[rapid.IntRange(0, 31).Draw(t, "at")] = rapid.SampledFrom(interesting).Draw(t, "byte")
		}
		if n, size, ok := guard.Ordinary(b); ok {
			h, err := chunk.ParseHeader(b)
			require.NoError(t, err)
			require.NoError(t, h.Check())
			require.LessOrEqual(t, int(h.CBytes), len(b))
			require.EqualValues(t, h.NBytes, n)
			require.EqualValues(t, h.CBytes, size)
			require.Equal(t, chunk.NotSpecial, h.Special)
			require.Zero(t, h.Blosc2Flags)
		}
	})
}

func TestNewBatch(t *testing.T) {
	data := testutil.Ramp(1000, 1)
	b, err := cblosc.NewBatch(data, 300)
	require.NoError(t, err)
	require.Equal(t, 4, b.Len())
	for i, item := range b.All() {
		require.Equal(t, data[300*i:min(300*i+300, 1000)], item)
		if i == 2 {
			break
		}
	}
	require.Equal(t, 100, len(b.Item(3)))
	require.Equal(t, 100, cap(b.Item(1))-200, "an append to an item does not reach the next")
	require.Panics(t, func() { b.Item(4) })
	b.Reset()
	require.Zero(t, b.Len())
	require.Empty(t, b.Bytes())
	b, err = cblosc.NewBatch(nil, 1)
	require.NoError(t, err)
	require.Zero(t, b.Len())
	for _, size := range []int{0, -1} {
		_, err = cblosc.NewBatch(data, size)
		require.ErrorIs(t, err, cblosc.ErrParam)
	}
}

func TestBatch_errors(t *testing.T) {
	p := cparams(4)
	p.Filters[0].ID = cblosc.Delta // requires whole elements
	items := make([][]byte, 100)
	for i := range items {
		items[i] = testutil.Ramp(4000, uint64(i))
	}
	for _, b := range batchers(t, p) {
		t.Run(b.name, func(t *testing.T) {
			chunks, back := batchOf([]byte("old")), batchOf([]byte("old"))
			ragged := batchOf(items...)
			ragged.Append(testutil.Ramp(4001, 1))
			err := b.compress(chunks, ragged)
			require.ErrorIs(t, err, cblosc.ErrSize)
			require.ErrorContains(t, err, "compress item 100 of 101: wrong size: 4001 bytes, want a multiple of the type size 4")
			require.Zero(t, chunks.Len(), "what was there is gone")

			require.NoError(t, b.compress(chunks, batchOf(items...)))
			require.NoError(t, b.decompress(back, chunks))
			require.Equal(t, items[99], back.Item(99))
			chunks.Item(77)[3] = 0 // type size
			err = b.decompress(back, chunks)
			require.ErrorIs(t, err, cblosc.ErrFormat)
			require.ErrorIs(t, err, format.ErrCorrupt)
			require.ErrorContains(t, err, "decompress item 77 of 100")
			require.Zero(t, back.Len())

			// C-Blosc2 must detect a stream that claims to be longer than the chunk.
			require.NoError(t, b.compress(chunks, batchOf(items...)))
			copy(chunks.Item(55)[36:], []byte{0xFF, 0xFF, 0xFF, 0x7F})
			err = b.decompress(back, chunks)
			require.ErrorContains(t, err, "decompress item 55 of 100")
			var e *cblosc.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "blosc2_decompress_ctx", e.Call)
			require.NotContains(t, e.Error(), e.Call)
			require.Equal(t, e.Error()+" (blosc2_decompress_ctx)", fmt.Sprintf("%+v", e))
			require.Zero(t, back.Len())

			require.ErrorIs(t, b.compress(chunks, chunks), cblosc.ErrParam)
			require.ErrorIs(t, b.decompress(chunks, chunks), cblosc.ErrParam)
		})
	}
}

func TestClosedBatches(t *testing.T) {
	c, err := cblosc.NewCompressor(nil)
	require.NoError(t, err)
	d, err := cblosc.NewDecompressor(nil)
	require.NoError(t, err)
	pool, err := cblosc.NewPool(nil, nil)
	require.NoError(t, err)
	src, chunks := batchOf(testutil.Ramp(800, 1)), new(cblosc.Batch)
	require.NoError(t, c.CompressBatch(chunks, src))
	require.NoError(t, errors.Join(c.Close(), d.Close(), pool.Close()))
	dst := new(cblosc.Batch)
	require.ErrorIs(t, c.CompressBatch(dst, src), cblosc.ErrClosed)
	require.ErrorIs(t, d.DecompressBatch(dst, chunks), cblosc.ErrClosed)
	require.ErrorIs(t, pool.CompressBatch(dst, src), cblosc.ErrClosed)
	require.ErrorIs(t, pool.DecompressBatch(dst, chunks), cblosc.ErrClosed)
}

func TestBatch_Allocations(t *testing.T) {
	c, d := newCompressor(t, nil), newDecompressor(t)
	src, err := cblosc.NewBatch(testutil.Ramp(1<<16, 1), 4096)
	require.NoError(t, err)
	chunks, back := new(cblosc.Batch), new(cblosc.Batch)
	work := func() { _, _ = c.CompressBatch(chunks, src), d.DecompressBatch(back, chunks) }
	work()
	require.Zero(t, testing.AllocsPerRun(100, work))
	require.Equal(t, src.Bytes(), back.Bytes())
}

// TestBatch_goroutines checks one pool with 64 goroutines that use batches and single calls.
func TestBatch_goroutines(t *testing.T) {
	pool, err := cblosc.NewPool(cparams(4), nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			src, chunks, back := new(cblosc.Batch), new(cblosc.Batch), new(cblosc.Batch)
			for i := range 50 {
				src.Append(testutil.Ramp(4000+i, uint64(g)))
			}
			for range 3 {
				if err := errors.Join(pool.CompressBatch(chunks, src), pool.DecompressBatch(back, chunks)); err != nil {
					t.Error(err)
				}
				if !bytes.Equal(src.Bytes(), back.Bytes()) {
					t.Errorf("goroutine %d: other bytes", g)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, pool.Close())
}

// A service compresses the records of a request in one call and reads one of them.
func ExamplePool_CompressBatch() {
	p := cblosc.DefaultCParams()
	p.Codec, p.TypeSize = cblosc.LZ4, 1
	pool, err := cblosc.NewPool(p, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()

	var records, chunks, back cblosc.Batch // kept for the next request: they keep their memory
	for i := range 1000 {
		records.Append(bytes.Repeat([]byte{byte(i)}, 4096))
	}
	if err := pool.CompressBatch(&chunks, &records); err != nil {
		fmt.Println(err)
		return
	}
	if err := pool.DecompressBatch(&back, &chunks); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(chunks.Len(), "chunks", len(chunks.Bytes()) < len(records.Bytes())/50, bytes.Equal(back.Item(7), records.Item(7)))
	// Output: 1000 chunks true true
}
