package cblosc_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/blosc1"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// compressBlosc1 returns src as a Blosc1 chunk.
func compressBlosc1(t tester, p *cblosc.CParams, src []byte) []byte {
	t.Helper()
	dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
	n, err := blosc1.Exact(p, dst, src)
	require.NoError(t, err)
	return dst[:n:n]
}

// poolBlosc1 is like compressBlosc1, but uses a context of a pool.
func poolBlosc1(t tester, p *cblosc.CParams, src []byte) []byte {
	t.Helper()
	pool, err := cblosc.NewPool(p, nil)
	require.NoError(t, err)
	dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
	n, err := blosc1.Compress(pool, p, dst, src)
	require.NoError(t, err)
	require.NoError(t, pool.Close())
	return dst[:n:n]
}

// runBytes returns elements of four bytes: one random byte, one zero and two ones.
func runBytes(n int) []byte {
	b := testutil.Noise(n, 5)
	for i := range b {
		switch i % 4 {
		case 1:
			b[i] = 0
		case 2, 3:
			b[i] = 1
		}
	}
	return b
}

// cparams1 returns parameters that Blosc1 supports.
func cparams1(codec cblosc.Codec, level, typeSize int, filter cblosc.FilterID) *cblosc.CParams {
	p := cblosc.DefaultCParams()
	p.Codec, p.Level, p.TypeSize = codec, level, typeSize
	p.Filters[cblosc.MaxFilters-1] = cblosc.Filter{ID: filter}
	return p
}

func TestCompressBlosc1(t *testing.T) {
	d := newDecompressor(t)
	rapid.Check(t, func(t *rapid.T) {
		p := cparams1(
			rapid.SampledFrom(cblosc.Codecs()).Draw(t, "codec"),
			rapid.IntRange(0, 9).Draw(t, "level"),
			rapid.SampledFrom([]int{1, 2, 3, 4, 7, 8, 16, 17, 255, 256, 300}).Draw(t, "type size"),
			rapid.SampledFrom([]cblosc.FilterID{cblosc.NoFilter, cblosc.Shuffle, cblosc.BitShuffle}).Draw(t, "filter"))
		p.BlockSize = rapid.SampledFrom([]int{0, 0, 1, 64, 1000, 4096}).Draw(t, "block size")
		p.Split = cblosc.SplitMode(rapid.IntRange(1, 4).Draw(t, "split"))
		n := rapid.IntRange(0, 20000).Draw(t, "bytes")
		src := testutil.Ramp(n, rapid.Uint64Range(0, 9).Draw(t, "seed"))
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			src = testutil.Noise(n, 1)
		case 1:
			src = make([]byte, n)
		}
		for _, b := range [][]byte{compressBlosc1(t, p, src), poolBlosc1(t, p, src)} {
			require.LessOrEqual(t, len(b), n+16)
			h, err := chunk.ParseHeader(b)
			require.NoError(t, err)
			require.False(t, h.Extended)
			require.EqualValues(t, 2, h.Version)
			require.EqualValues(t, len(b), h.CBytes)
			require.EqualValues(t, n, h.NBytes)
			require.NoError(t, chunk.Check(b))
			dst := make([]byte, n)
			got, err := d.Decompress(dst, b)
			require.NoError(t, err)
			require.Equal(t, n, got)
			require.Equal(t, src, dst)
		}
	})
}

// TestContext_Blosc1 checks which Blosc2 chunks AppendBlosc1 converts without recompression. It
// must convert runs to an LZ4 stream, and reject chunks that only Blosc2 can read.
func TestContext_Blosc1(t *testing.T) {
	d := newDecompressor(t)
	for _, tt := range []struct {
		name   string
		src    []byte
		filter cblosc.FilterID
		size   int
		want   bool
	}{
		{"ramp", testutil.Ramp(100_000, 3), cblosc.Shuffle, 4, true},
		{"noise", testutil.Noise(100_000, 3), cblosc.Shuffle, 8, true},
		{"bits in eights", testutil.Ramp(8*4096, 3), cblosc.BitShuffle, 4, true},
		{"bits not in eights", testutil.Ramp(4*1001, 3), cblosc.BitShuffle, 4, false},
		{"a chunk of one value", make([]byte, 100_000), cblosc.NoFilter, 4, false},
		{"runs among the bytes", runBytes(100_000), cblosc.Shuffle, 4, true},
		{"delta", testutil.Ramp(100_000, 3), cblosc.Delta, 4, false},
		// C-Blosc2 splits no more than Blosc1.
		{"few elements that Blosc2 splits", testutil.Ramp(100*4, 3), cblosc.NoFilter, 4, true},
	} {
		p := cparams1(cblosc.LZ4, 5, tt.size, tt.filter)
		p.Split = cblosc.SplitAlways
		c, err := cblosc.NewCompressor(p)
		require.NoError(t, err)
		b := make([]byte, cblosc.MaxCompressedSize(len(tt.src)))
		n, err := c.Compress(b, tt.src)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		parsed, err := chunk.Parse(b[:n])
		require.NoError(t, err)
		out, ok := parsed.AppendBlosc1([]byte("before"))
		require.Equal(t, tt.want, ok, tt.name)
		require.Equal(t, "before", string(out[:6]))
		if !ok {
			require.Len(t, out, 6)
			continue
		}
		dst := make([]byte, len(tt.src))
		require.NoError(t, chunk.Check(out[6:]))
		_, err = d.Decompress(dst, out[6:])
		require.NoError(t, err)
		require.Equal(t, tt.src, dst, tt.name)
	}
	p := cparams1(cblosc.LZ4, 5, 4, cblosc.Delta)
	pool, err := cblosc.NewPool(p, nil)
	require.NoError(t, err)
	_, err = blosc1.Compress(pool, p, make([]byte, 100), make([]byte, 8))
	require.ErrorIs(t, err, cblosc.ErrParam)
	require.NoError(t, pool.Close())
	_, err = blosc1.Compress(pool, p, make([]byte, 100), make([]byte, 8))
	require.Error(t, err)
	p = cparams1(cblosc.LZ4, 5, 4, cblosc.Shuffle)
	pool, err = cblosc.NewPool(p, nil)
	require.NoError(t, err)
	_, err = blosc1.Compress(pool, p, make([]byte, 500), testutil.Noise(10_000, 1))
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.NoError(t, pool.Close())
	_, err = blosc1.Compress(pool, p, make([]byte, 100), testutil.Ramp(1000, 1))
	require.ErrorIs(t, err, cblosc.ErrClosed)
}

// TestCompressBlosc1_bitShuffle checks block sizes that are not a multiple of 8 elements. Blosc1
// does not shuffle such a block, whereas C-Blosc2 shuffles the largest multiple of 8 elements in
// it.
func TestCompressBlosc1_bitShuffle(t *testing.T) {
	d := newDecompressor(t)
	for _, size := range []int{1, 2, 3, 8, 17, 24} {
		for _, items := range []int{7, 8, 9, 63, 64, 4096, 4097, 8192, 20_001} {
			for _, block := range []int{0, 9 * size, 8 * size} {
				for _, more := range []int{0, size - 1} {
					p := cparams1(cblosc.LZ4, 5, size, cblosc.BitShuffle)
					p.BlockSize = block
					src := testutil.Ramp(size*items+more, 1)
					b := compressBlosc1(t, p, src)
					require.NoError(t, chunk.Check(b))
					dst := make([]byte, len(src))
					_, err := d.Decompress(dst, b)
					require.NoError(t, err)
					require.Equal(t, src, dst, "%d items of %d and %d bytes, block %d", items, size, more, block)
				}
			}
		}
	}
}

// TestCompressBlosc1_partialElements checks that the binding rejects a chunk with blocks that are
// smaller than an element, both when it writes and when it reads one, because C-Blosc2 leaves these
// blocks unchanged in the result. Package blosc1 uses larger blocks.
func TestCompressBlosc1_partialElements(t *testing.T) {
	p := cparams1(cblosc.LZ4HC, 1, 200, cblosc.BitShuffle)
	p.BlockSize, p.Split = 64, cblosc.SplitAlways
	src := testutil.Ramp(8*200, 0)
	b := make([]byte, cblosc.MaxCompressedSize(len(src)))
	_, err := cblosc.CompressBlosc1(p, b, src)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	d, dst := newDecompressor(t), make([]byte, len(src))
	_, err = d.Decompress(dst, b)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "got 64 bytes, want a multiple of the 200 bytes of an element")
	n, err := d.Decompress(dst, compressBlosc1(t, p, src))
	require.NoError(t, err)
	require.Equal(t, src, dst[:n])
}

// TestCompressBlosc1_unevenBitShuffle checks that the binding rejects a chunk that Blosc1 would
// read differently.
func TestCompressBlosc1_unevenBitShuffle(t *testing.T) {
	dst := make([]byte, cblosc.MaxCompressedSize(9*4))
	_, err := cblosc.CompressBlosc1(cparams1(cblosc.LZ4, 5, 4, cblosc.BitShuffle), dst, make([]byte, 9*4))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "multiple of 8")
}

// TestCompressBlosc1_layout checks the block size and the mark of blocks without splits in the
// header of a chunk.
func TestCompressBlosc1_layout(t *testing.T) {
	src := testutil.Ramp(1<<16, 1)
	for _, size := range []int{2048, 4096} {
		for split, mark := range map[cblosc.SplitMode]byte{cblosc.SplitAlways: 0, cblosc.SplitNever: 1} {
			p := cparams1(cblosc.LZ4, 5, 4, cblosc.Shuffle)
			p.BlockSize, p.Split = size, split
			dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
			n, err := cblosc.CompressBlosc1(p, dst, src)
			require.NoError(t, err)
			require.Greater(t, n, 16)
			require.Equal(t, uint32(size), binary.LittleEndian.Uint32(dst[8:]), "block size")
			require.Equal(t, mark, dst[2]>>4&1, "blocks without splits")
		}
	}
}

func TestCompressBlosc1_invalidArguments(t *testing.T) {
	src := testutil.Ramp(1000, 1)
	dst := make([]byte, cblosc.MaxCompressedSize(1000))
	for name, edit := range map[string]func(*cblosc.CParams){
		"level":             func(p *cblosc.CParams) { p.Level = 10 },
		"delta":             func(p *cblosc.CParams) { p.Filters[0].ID = cblosc.Delta },
		"trunc_prec":        func(p *cblosc.CParams) { p.Filters[5] = cblosc.Filter{ID: cblosc.TruncPrec, Meta: 9} },
		"shuffle elsewhere": func(p *cblosc.CParams) { p.Filters[2].ID = cblosc.Shuffle },
		"codec 3":           func(p *cblosc.CParams) { p.Codec = 3 },
		"zfp":               func(p *cblosc.CParams) { p.Filters[5].ID = 0; p.Codec, p.CodecMeta = cblosc.ZFPPrecision, 9 },
		"dictionary":        func(p *cblosc.CParams) { p.Codec, p.Dict = cblosc.Zstd, true },
		"threads":           func(p *cblosc.CParams) { p.Threads = 2 },
	} {
		p := cparams(8)
		edit(p)
		_, err := cblosc.CompressBlosc1(p, dst, src)
		require.ErrorIs(t, err, cblosc.ErrParam, name)
	}
	for _, filter := range []cblosc.FilterID{cblosc.NoFilter, cblosc.Shuffle, cblosc.BitShuffle} {
		for _, n := range []int{0, 1, 16, 31, 100, 1015} {
			_, err := cblosc.CompressBlosc1(cparams1(cblosc.LZ4, 5, 7, filter), dst[:n], testutil.Noise(1000, 1))
			require.ErrorIs(t, err, cblosc.ErrSize, "%v, %d bytes", filter, n)
			require.ErrorContains(t, err, fmt.Sprintf("%d bytes for the chunk of 1000, at most 1032 are needed", n))
		}
	}
	if runtime.GOOS == "windows" {
		return // os.Setenv does not change the environment of C
	}
	t.Setenv("BLOSC_NOLOCK", "1")
	_, err := cblosc.CompressBlosc1(nil, dst, src)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "BLOSC_NOLOCK")
}

func TestCompressBlosc1_goroutines(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			p := cparams1(cblosc.Codecs()[g%5], g%10, 1+g, cblosc.FilterID(g%3))
			src := testutil.Ramp(3000+g, uint64(g))
			chunk, dst := make([]byte, cblosc.MaxCompressedSize(len(src))), make([]byte, len(src))
			d, err := cblosc.NewDecompressor(nil)
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				n, err := blosc1.Exact(p, chunk, src)
				if err == nil {
					_, err = d.Decompress(dst, chunk[:n])
				}
				if err != nil || !bytes.Equal(dst, src) || chunk[3] != byte(1+g) {
					t.Errorf("goroutine %d: %v", g, err)
				}
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestCompressBlosc1_snappy checks that Snappy, the only Blosc1 codec that C-Blosc2 cannot read, is
// named in the error. A Snappy chunk with uncompressed data must be readable.
func TestCompressBlosc1_snappy(t *testing.T) {
	d := newDecompressor(t)
	b := compressBlosc1(t, cparams1(cblosc.LZ4, 5, 4, cblosc.Shuffle), testutil.Ramp(4000, 1))
	b[2] = b[2]&0x1F | 2<<5
	_, err := d.Decompress(make([]byte, 4000), b)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, err, format.ErrUnsupported)
	require.ErrorContains(t, err, "snappy")

	src := testutil.Noise(4000, 1)
	b = compressBlosc1(t, cparams1(cblosc.LZ4, 5, 4, cblosc.Shuffle), src)
	b[2] = b[2]&0x1F | 2<<5
	dst := make([]byte, 4000)
	_, err = d.Decompress(dst, b)
	require.NoError(t, err)
	require.Equal(t, src, dst)
}

// bcolzCase is a chunk that bcolz and this package exchange.
type bcolzCase struct {
	Codec   string `json:"codec"`
	Level   int    `json:"level"`
	Shuffle int    `json:"shuffle"`
	Size    int    `json:"size"`
	Items   int    `json:"items"`
	Kind    string `json:"kind"`

	pool bool // made by a context of a pool
}

func (c *bcolzCase) data() []byte {
	n := c.Size * c.Items
	switch c.Kind {
	case "noise":
		return testutil.Noise(n, 3)
	case "zeros":
		return make([]byte, n)
	case "runs":
		return runBytes(n)
	case "ones":
		return bytes.Repeat([]byte{1}, n)
	}
	return testutil.Ramp(n, 3)
}

// bcolzScript reads every array that Go wrote, compares it with the expected bytes, and writes an
// array of the same bytes.
const bcolzScript = `
import json, os, sys
import numpy as np
import bcolz
bcolz.set_nthreads(1)
root = sys.argv[1]
for i, c in enumerate(json.load(open(os.path.join(root, "cases.json")))):
    d = os.path.join(root, str(i))
    want = open(os.path.join(d, "want"), "rb").read()
    dtype = "V%d" % c["size"] if c["size"] not in (1, 2, 4, 8) else "u%d" % c["size"]
    a = bcolz.carray(rootdir=os.path.join(d, "go"), mode="r")
    got = a[:].tobytes()
    assert got == want, (c, "read", [k for k in range(len(want)) if got[k:k+1] != want[k:k+1]][:4])
    b = bcolz.carray(np.frombuffer(want, dtype), rootdir=os.path.join(d, "bcolz"), mode="w", chunklen=c["items"],
                     cparams=bcolz.cparams(clevel=c["level"], shuffle=c["shuffle"], cname=c["codec"]))
    b.flush()
print(i + 1)
`

func TestBlosc1AgainstBcolz(t *testing.T) {
	python := testenv.Python(t, "bcolz")
	var cases []bcolzCase
	for _, codec := range cblosc.Codecs() {
		for shuffle := range 3 {
			add := func(level, size, items int, kind string) {
				for _, pool := range []bool{false, true} {
					cases = append(cases, bcolzCase{codec.String(), level, shuffle, size, items, kind, pool})
				}
			}
			for _, size := range []int{1, 3, 8, 17} {
				for _, items := range []int{7, 1001, 12_011} {
					add(5, size, items, "ramp")
				}
			}
			for _, level := range []int{0, 1, 9} {
				add(level, 4, 12_011, "ramp")
			}
			for _, kind := range []string{"zeros", "ones", "noise", "runs"} {
				add(5, 17, 8192, kind)
				add(5, 4, 65_536, kind)
			}
		}
	}
	root := t.TempDir()
	write := func(path string, b []byte) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, b, 0o600))
	}
	params := func(c *bcolzCase) *cblosc.CParams {
		codec, err := cblosc.ParseCodec(c.Codec)
		require.NoError(t, err)
		return cparams1(codec, c.Level, c.Size, cblosc.FilterID(c.Shuffle))
	}
	for i := range cases {
		c := &cases[i]
		src := c.data()
		dir := filepath.Join(root, fmt.Sprint(i))
		dtype := fmt.Sprintf("|V%d", c.Size)
		if c.Size == 1 || c.Size == 2 || c.Size == 4 || c.Size == 8 {
			dtype = fmt.Sprintf("uint%d", 8*c.Size)
		}
		write(filepath.Join(dir, "want"), src)
		write(filepath.Join(dir, "go", "__attrs__"), []byte("{}\n"))
		write(filepath.Join(dir, "go", "meta", "sizes"), fmt.Appendf(nil, `{"shape": [%d], "nbytes": %d, "cbytes": %d}`+"\n", c.Items, len(src), len(src)))
		write(filepath.Join(dir, "go", "meta", "storage"), fmt.Appendf(nil, `{"dtype": %q, "cparams": {"clevel": %d, "shuffle": %d, "cname": %q, "quantize": 0}, "chunklen": %d, "expectedlen": %d, "dflt": 0}`+"\n",
			dtype, c.Level, c.Shuffle, c.Codec, c.Items, c.Items))
		head := []byte{'b', 'l', 'p', 'k', 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}
		made := compressBlosc1(t, params(c), src)
		if c.pool {
			made = poolBlosc1(t, params(c), src)
		}
		write(filepath.Join(dir, "go", "data", "__0.blp"), append(head, made...))
	}
	list, err := json.Marshal(cases)
	require.NoError(t, err)
	write(filepath.Join(root, "cases.json"), list)
	out, err := exec.Command(python, "-c", bcolzScript, root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, fmt.Sprintln(len(cases)), string(out))

	d := newDecompressor(t)
	for i := range cases {
		c := &cases[i]
		b, err := os.ReadFile(filepath.Join(root, fmt.Sprint(i), "bcolz", "data", "__0.blp"))
		require.NoError(t, err)
		src := c.data()
		info, err := cblosc.Info(b[16:])
		require.NoError(t, err)
		require.Equal(t, 2, info.Version)
		dst := make([]byte, len(src))
		n, err := d.Decompress(dst, b[16:])
		require.NoError(t, err, "%+v", c)
		require.Equal(t, len(src), n)
		require.Equal(t, src, dst, "%+v", c)
	}
}

func TestCompressBlosc1Limit(t *testing.T) {
	_, err := cblosc.CompressBlosc1(nil, nil, virtual(t, math.MaxInt32-31))
	require.ErrorIs(t, err, cblosc.ErrLimit)
}
