package cblosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// chunksOfAllKinds returns chunks whose parts are read in different ways, with their data.
func chunksOfAllKinds(t testing.TB) map[string][2][]byte {
	kinds := map[string][2][]byte{}
	add := func(name string, p *cblosc.CParams, src []byte) { kinds[name] = [2][]byte{compress(t, p, src), src} }
	blocks := cparams(4)
	blocks.BlockSize = 512
	add("blocks", blocks, testutil.Ramp(5000, 1))
	add("ragged", blocks, testutil.Ramp(5003, 1))
	add("stored", blocks, testutil.Noise(5003, 1))
	add("zeros", blocks, make([]byte, 5000))
	long := cparams(300)
	long.BlockSize = 600
	add("long elements", long, testutil.Ramp(6000, 1))
	delta := *blocks
	delta.Filters[0].ID = cblosc.Delta
	add("delta", &delta, testutil.Ramp(5000, 1))
	dict := *blocks
	dict.Codec, dict.Dict = cblosc.Zstd, true
	add("dictionary", &dict, testutil.Ramp(20_000, 1))
	kinds["blosc1"] = [2][]byte{compressBlosc1(t, cparams1(cblosc.LZ4, 5, 3, cblosc.BitShuffle), testutil.Ramp(5000, 1)), testutil.Ramp(5000, 1)}
	for name, value := range map[string][]byte{"repeated": {1, 2, 3, 4}, "long repeated": testutil.Ramp(300, 1)} {
		b, err := cblosc.SpecialChunk(cparams(len(value)), cblosc.Repeated, 10*len(value), value)
		require.NoError(t, err)
		kinds[name] = [2][]byte{b, bytes.Repeat(value, 10)}
	}
	return kinds
}

// blocksOf returns the number of blocks of a chunk.
func blocksOf(c *cblosc.ChunkInfo) int { return (c.NBytes + c.BlockSize - 1) / c.BlockSize }

func TestDecompressor_Items(t *testing.T) {
	d := newDecompressor(t)
	for name, kind := range chunksOfAllKinds(t) {
		b, src := kind[0], kind[1]
		info, err := cblosc.Info(b)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				start := rapid.IntRange(0, len(src)).Draw(t, "start")
				n := rapid.IntRange(0, len(src)-start).Draw(t, "n")
				first, size := start/info.TypeSize, info.TypeSize
				items := n / size
				if first+items > len(src)/size {
					return
				}
				dst := make([]byte, items*size)
				_, err := d.Items(dst, b, first, items)
				require.NoError(t, err)
				require.Equal(t, src[first*size:(first+items)*size], dst)
			})
			items := len(src) / info.TypeSize
			for _, r := range [][2]int{{-1, 1}, {items, 1}, {items + 1, 0}, {0, items + 1}, {1 << 62, 1}} {
				_, err := d.Items(make([]byte, r[1]*info.TypeSize), b, r[0], r[1])
				require.ErrorIs(t, err, cblosc.ErrRegion, "%v", r)
			}
		})
	}
	_, err := d.Items(nil, []byte("short"), 0, 0)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	uninit, err := cblosc.SpecialChunk(cparams(4), cblosc.Uninit, 400, nil)
	require.NoError(t, err)
	dst := []byte("old content.")
	_, err = d.Items(dst, uninit, 2, 3)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 12), dst)
	d, err = cblosc.NewDecompressor(nil)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	_, err = d.Items(nil, uninit, 0, 0)
	require.ErrorIs(t, err, cblosc.ErrClosed)
	_, err = d.Blocks(make([]byte, 400), uninit, []bool{true})
	require.ErrorIs(t, err, cblosc.ErrClosed)
}

// TestDecompressor_afterBlosc2 checks that a context that reads a Blosc1 chunk uses no state of the
// Blosc2 chunk before.
func TestDecompressor_afterBlosc2(t *testing.T) {
	src := testutil.Ramp(6000, 1)
	filtered := func(filters ...cblosc.Filter) []byte {
		p := cparams(4)
		p.Filters = [cblosc.MaxFilters]cblosc.Filter{}
		copy(p.Filters[cblosc.MaxFilters-len(filters):], filters)
		return compress(t, p, src)
	}
	before := map[string][]byte{
		"byte delta":        filtered(cblosc.Filter{ID: cblosc.Shuffle}, cblosc.Filter{ID: cblosc.ByteDelta, Meta: 4}),
		"shuffle of groups": filtered(cblosc.Filter{ID: cblosc.Shuffle, Meta: 2}),
	}
	for _, kind := range []cblosc.Special{cblosc.Zeros, cblosc.NaNs, cblosc.Uninit, cblosc.Repeated} {
		var value []byte
		if kind == cblosc.Repeated {
			value = []byte{1, 2, 3, 4}
		}
		special, err := cblosc.SpecialChunk(cparams(4), kind, len(src), value)
		require.NoError(t, err)
		before[kind.String()] = special
	}
	// Ways to read the bytes from 1200 to 2400.
	ways := map[string]func(d *cblosc.Decompressor, b []byte) []byte{
		"Decompress": func(d *cblosc.Decompressor, b []byte) []byte {
			dst := make([]byte, len(src))
			_, err := d.Decompress(dst, b)
			require.NoError(t, err)
			return dst[1200:2400]
		},
		"Items": func(d *cblosc.Decompressor, b []byte) []byte {
			info, err := cblosc.Info(b)
			require.NoError(t, err)
			dst := make([]byte, 1200)
			_, err = d.Items(dst, b, 1200/info.TypeSize, 1200/info.TypeSize)
			require.NoError(t, err)
			return dst
		},
		"Blocks": func(d *cblosc.Decompressor, b []byte) []byte {
			info, err := cblosc.Info(b)
			require.NoError(t, err)
			dst := make([]byte, len(src))
			_, err = d.Blocks(dst, b, make([]bool, blocksOf(&info)))
			require.NoError(t, err)
			return dst[1200:2400]
		},
		"GlobalDecompress": func(_ *cblosc.Decompressor, b []byte) []byte {
			dst := make([]byte, len(src))
			_, err := cblosc.GlobalDecompress(dst, b)
			require.NoError(t, err)
			return dst[1200:2400]
		},
	}
	for name, chunk := range before {
		for _, shuffle := range []cblosc.FilterID{cblosc.Shuffle, cblosc.BitShuffle} {
			old := compressBlosc1(t, cparams1(cblosc.LZ4, 5, 12, shuffle), src)
			for first, read := range ways {
				for second, readOld := range ways {
					t.Run(fmt.Sprint(name, "/", shuffle, "/", first, "/", second), func(t *testing.T) {
						d := newDecompressor(t)
						read(d, chunk)
						for range 2 {
							require.True(t, bytes.Equal(src[1200:2400], readOld(d, old)))
						}
					})
				}
			}
		}
	}
}

// TestDecompressor_anyOrder reads chunks of all kinds in any order, whole and in parts, with
// damaged chunks between them. The result must not depend on the chunks that the context read
// before.
func TestDecompressor_anyOrder(t *testing.T) {
	kinds := chunksOfAllKinds(t)
	add := func(name string, chunk, src []byte) { kinds[name] = [2][]byte{chunk, src} }
	src := testutil.Ramp(6000, 2)
	for _, codec := range cblosc.Codecs() {
		for _, size := range []int{1, 4, 12} {
			for _, filter := range []cblosc.FilterID{cblosc.NoFilter, cblosc.Shuffle, cblosc.BitShuffle} {
				name := fmt.Sprint(codec, " ", size, " ", filter)
				p := cparams1(codec, 5, size, filter)
				add(name+", Blosc1", compressBlosc1(t, p, src), src)
				p.BlockSize = 1200
				add(name, compress(t, p, src), src)
				p.Filters[cblosc.MaxFilters-2], p.Filters[cblosc.MaxFilters-1] = p.Filters[cblosc.MaxFilters-1], cblosc.Filter{ID: cblosc.ByteDelta, Meta: uint8(size)}
				add(name+", byte delta", compress(t, p, src), src)
			}
		}
	}
	names := slices.Sorted(maps.Keys(kinds))
	rapid.Check(t, func(t *rapid.T) {
		d, err := cblosc.NewDecompressor(nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		for range rapid.IntRange(2, 8).Draw(t, "reads") {
			name := rapid.SampledFrom(names).Draw(t, "kind")
			chunk, want := kinds[name][0], kinds[name][1]
			info, err := cblosc.Info(chunk)
			require.NoError(t, err)
			damaged := rapid.IntRange(0, 2).Draw(t, "damaged") == 0
			if damaged {
				chunk = bytes.Clone(chunk)
				for range rapid.IntRange(1, 2).Draw(t, "changes") {
					at := rapid.IntRange(0, min(len(chunk), 64)-1).Draw(t, "at")
					chunk[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
				}
			}
			dst := make([]byte, len(want))
			switch rapid.IntRange(0, 2).Draw(t, "way") {
			case 0:
				_, err = d.Decompress(dst, chunk)
			case 1:
				first := rapid.IntRange(0, len(want)/info.TypeSize-1).Draw(t, "first")
				n := rapid.IntRange(1, len(want)/info.TypeSize-first).Draw(t, "items")
				want = want[first*info.TypeSize : (first+n)*info.TypeSize]
				dst = dst[:len(want)]
				_, err = d.Items(dst, chunk, first, n)
			case 2:
				_, err = d.Blocks(dst, chunk, make([]bool, blocksOf(&info)))
			}
			if !damaged {
				require.NoError(t, err, name)
				require.True(t, bytes.Equal(want, dst), name)
			}
		}
	})
}

// TestPostfiltered_afterBlosc2 checks that Go functions get the blocks of the chunks only.
func TestPostfiltered_afterBlosc2(t *testing.T) {
	src, n := testutil.Ramp(6000, 1), 0
	d, err := cblosc.NewPostfiltered(nil, func(dst, src []byte, _ cblosc.Block) error {
		n += copy(dst, src)
		return nil
	})
	require.NoError(t, err)
	closing(t, d)
	dst := make([]byte, len(src))
	for _, chunk := range [][]byte{compress(t, cparams(4), src), compressBlosc1(t, cparams1(cblosc.LZ4, 5, 12, cblosc.Shuffle), src)} {
		clear(dst)
		_, err := d.Decompress(dst, chunk)
		require.NoError(t, err)
		require.True(t, bytes.Equal(src, dst))
	}
	require.Equal(t, 2*len(src), n)
}

func TestBlocks(t *testing.T) {
	d := newDecompressor(t)
	for name, kind := range chunksOfAllKinds(t) {
		b, src := kind[0], kind[1]
		info, err := cblosc.Info(b)
		require.NoError(t, err)
		n := blocksOf(&info)
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				skip := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "skip")
				if name == "delta" {
					skip[0] = false
				}
				dst := bytes.Repeat([]byte{0xEE}, len(src))
				got, err := d.Blocks(dst, b, skip)
				require.NoError(t, err)
				require.Equal(t, len(src), got)
				for i, s := range skip {
					from, to := i*info.BlockSize, min((i+1)*info.BlockSize, len(src))
					want := src[from:to]
					if s {
						want = bytes.Repeat([]byte{0xEE}, to-from)
					}
					require.Equal(t, want, dst[from:to], "block %d, skipped: %t", i, s)
				}
				// The mask must apply to one call only.
				_, err = d.Decompress(dst, b)
				require.NoError(t, err)
				require.Equal(t, src, dst)
			})
			for _, m := range []int{0, n - 1, n + 1} {
				_, err := d.Blocks(make([]byte, len(src)), b, make([]bool, m))
				if m != n {
					require.ErrorIs(t, err, cblosc.ErrSize)
					require.ErrorContains(t, err, fmt.Sprintf("a mask of %d blocks, the chunk has %d", m, n))
				}
			}
			_, err := d.Blocks(make([]byte, len(src)-1), b, make([]bool, n))
			require.ErrorIs(t, err, cblosc.ErrSize)
			if name == "delta" {
				skip := make([]bool, n)
				skip[0] = true
				_, err := d.Blocks(make([]byte, len(src)), b, skip)
				require.ErrorIs(t, err, cblosc.ErrParam)
			}
		})
	}
	empty := compress(t, nil, nil)
	_, err := d.Blocks(nil, empty, nil)
	require.NoError(t, err)
	_, err = d.Blocks(nil, empty[:9], nil)
	require.ErrorIs(t, err, cblosc.ErrFormat)
}

func TestDictionaries(t *testing.T) {
	for _, codec := range []cblosc.Codec{cblosc.Zstd, cblosc.LZ4, cblosc.LZ4HC} {
		t.Run(codec.String(), func(t *testing.T) { checkDictionaries(t, codec) })
	}
}

func checkDictionaries(t *testing.T, codec cblosc.Codec) {
	d := newDecompressor(t)
	p := cparams(4)
	p.Codec, p.Dict, p.BlockSize = codec, true, 1024
	c := newCompressor(t, p)
	plain := *p
	plain.Dict = false
	for _, n := range []int{5120, 100_000, 99_999, 300_000} {
		for seed, src := range [][]byte{testutil.Ramp(n, 1), testutil.Ramp(n, 2), testutil.Noise(n, 1), make([]byte, n)} {
			chunk := make([]byte, cblosc.MaxCompressedSize(n))
			m, err := c.Compress(chunk, src)
			if cerr := new(cblosc.Error); errors.As(err, &cerr) && cerr.Call != "" {
				// Zstd finds no dictionary in some data and returns an error.
				require.NotEqual(t, 0, seed, "%d bytes: %v", n, err)
				require.Equal(t, "blosc2_compress_ctx", cerr.Call)
				continue
			}
			require.NoError(t, err)
			dst := make([]byte, n)
			for _, b := range [][]byte{chunk[:m], compress(t, &plain, src), chunk[:m]} {
				clear(dst)
				_, err = d.Decompress(dst, b)
				require.NoError(t, err)
				require.Equal(t, src, dst, "%d bytes", n)
			}
		}
	}
	_, err := c.Compress(make([]byte, 6000), testutil.Ramp(5119, 1))
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "5119 bytes, want at least 5120 for a dictionary")
	_, err = c.Compress(make([]byte, 10_031), testutil.Ramp(10_000, 1))
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "10031 bytes for the chunk of 10000, want 10032")
	_, err = cblosc.CreateSChunk(cblosc.Storage{CParams: p})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestRaggedZeros(t *testing.T) {
	d := newDecompressor(t)
	for _, n := range []int{33, 1001, 100_003} {
		b := compress(t, cparams(8), make([]byte, n))
		for _, size := range []byte{b[3], 8} { // C-Blosc2 writes 8
			b[3] = size
			dst := bytes.Repeat([]byte{0xEE}, n)
			_, err := d.Decompress(dst, b)
			require.NoError(t, err)
			require.Equal(t, make([]byte, n), dst)
			back := new(cblosc.Batch)
			require.NoError(t, d.DecompressBatch(back, batchOf(b, b)))
			require.Equal(t, make([]byte, 2*n), back.Bytes())
			info, err := cblosc.Info(b)
			require.NoError(t, err)
			skip := make([]bool, (n+info.BlockSize-1)/info.BlockSize)
			skip[0] = true
			dst = bytes.Repeat([]byte{0xEE}, n)
			_, err = d.Blocks(dst, b, skip)
			require.NoError(t, err)
			require.Equal(t, append(bytes.Repeat([]byte{0xEE}, min(n, info.BlockSize)), make([]byte, n-min(n, info.BlockSize))...), dst)
		}
	}
}

func TestCompressor_Compress_shortBuffer(t *testing.T) {
	for _, threads := range []int{1, 4, 16} {
		p := cparams(1)
		p.Threads, p.BlockSize, p.Filters = threads, 1, [cblosc.MaxFilters]cblosc.Filter{}
		c := newCompressor(t, p)
		for n := 32; n < 120; n += 7 {
			for size := 32; size <= 32+n; size++ {
				buf := bytes.Repeat([]byte{0xEE}, size+200)
				m, err := c.Compress(buf[:size], testutil.Noise(n, 1))
				if size == 32+n {
					require.NoError(t, err)
					require.Equal(t, size, m)
				} else {
					require.ErrorIs(t, err, cblosc.ErrSize)
				}
				require.Equal(t, bytes.Repeat([]byte{0xEE}, 200), buf[size:], "%d threads, %d bytes in %d", threads, n, size)
			}
		}
	}
}

func TestDecompressor_Decompress_shuffleSize(t *testing.T) {
	b := compress(t, cparams(4), testutil.Ramp(4000, 1))
	d := newDecompressor(t)
	b[0x1D] = 4 // same value as before
	dst := make([]byte, 4000)
	_, err := d.Decompress(dst, b)
	require.NoError(t, err)
	require.Equal(t, testutil.Ramp(4000, 1), dst)
	b[0x1D] = 2
	_, err = d.Decompress(dst, b)
	require.NoError(t, err)
	want := make([]byte, 4000)
	require.NoError(t, chunk.Decode(want, b))
	require.Equal(t, want, dst, "pairs of bytes")
	require.NotEqual(t, testutil.Ramp(4000, 1), dst)
}

// TestDecompressor_uninitialised reads uninitialised data in each way into a destination with other
// bytes. The library would leave them unchanged.
func TestDecompressor_uninitialised(t *testing.T) {
	const size = 400
	p := cparams(4)
	p.BlockSize = 128
	uninit, err := cblosc.SpecialChunk(p, cblosc.Uninit, size, nil)
	require.NoError(t, err)
	info, err := cblosc.Info(uninit)
	require.NoError(t, err)
	require.Equal(t, 128, info.BlockSize)
	d, err := cblosc.NewDecompressor(nil)
	require.NoError(t, err)
	closing(t, d)
	pool, err := cblosc.NewPool(nil, nil)
	require.NoError(t, err)
	closing(t, pool)
	dirty := func(n int) []byte { return bytes.Repeat([]byte{0xAA}, n) }
	for name, read := range map[string]func(dst []byte) (int, error){
		"Decompress":       func(dst []byte) (int, error) { return d.Decompress(dst, uninit) },
		"Items":            func(dst []byte) (int, error) { return d.Items(dst, uninit, 0, size/4) },
		"Blocks":           func(dst []byte) (int, error) { return d.Blocks(dst, uninit, make([]bool, 4)) },
		"Pool":             func(dst []byte) (int, error) { return pool.Decompress(dst, uninit) },
		"GlobalDecompress": func(dst []byte) (int, error) { return cblosc.GlobalDecompress(dst, uninit) },
		"GlobalItems":      func(dst []byte) (int, error) { return cblosc.GlobalItems(dst, uninit, 0, size/4) },
	} {
		dst := dirty(size)
		n, err := read(dst)
		require.NoError(t, err, name)
		require.Equal(t, size, n, name)
		require.Equal(t, make([]byte, size), dst, name)
	}
	dst, want := dirty(size), dirty(size)
	clear(want[128:256])
	clear(want[384:])
	_, err = d.Blocks(dst, uninit, []bool{true, false, true, false})
	require.NoError(t, err)
	require.Equal(t, want, dst, "the other blocks are unchanged")
	longer, want := dirty(size+50), append(make([]byte, size), dirty(50)...)
	_, err = d.Decompress(longer, uninit)
	require.NoError(t, err)
	require.Equal(t, want, longer)

	var chunks, out cblosc.Batch
	chunks.Append(uninit)
	chunks.Append(uninit)
	for _, decompress := range []func(dst, chunks *cblosc.Batch) error{d.DecompressBatch, pool.DecompressBatch} {
		out.Reset()
		out.Append(dirty(3 * size)) // the memory is reused
		require.NoError(t, decompress(&out, &chunks))
		require.Equal(t, make([]byte, size), out.Item(0))
		require.Equal(t, make([]byte, size), out.Item(1))
	}
}
