package cblosc_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"testing"

	datadog "github.com/DataDog/zstd"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestInterop_secondZstd checks that C-Blosc2 uses its own libzstd even if the binary contains
// another one, because the archives do not export the symbols of the codecs.
func TestInterop_secondZstd(t *testing.T) {
	src := testutil.Ramp(1<<16, 1)
	foreign, err := datadog.Compress(nil, src) // it is linked and works
	require.NoError(t, err)
	back, err := datadog.Decompress(nil, foreign)
	require.NoError(t, err)
	require.Equal(t, src, back)

	vs, err := cblosc.CodecVersions()
	require.NoError(t, err)
	require.Contains(t, vs, cblosc.CodecVersion{Codec: cblosc.Zstd, Library: "Zstd", Version: "1.5.7"})
	p := cparams(4)
	p.Codec = cblosc.Zstd
	data := make([]byte, len(src))
	n, err := newDecompressor(t).Decompress(data, compress(t, p, src))
	require.NoError(t, err)
	require.Equal(t, src, data[:n])
}

// TestIndependentDecoders checks that other decoders decode the streams of a chunk without filters
// to the same bytes.
func TestIndependentDecoders(t *testing.T) {
	zr, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(t, err)
	defer zr.Close()
	decoders := map[string]struct {
		codec  cblosc.Codec
		decode func(src []byte, n int) ([]byte, error)
	}{
		"zstd, klauspost": {cblosc.Zstd, func(src []byte, _ int) ([]byte, error) { return zr.DecodeAll(src, nil) }},
		"zstd, DataDog":   {cblosc.Zstd, func(src []byte, _ int) ([]byte, error) { return datadog.Decompress(nil, src) }},
		"zlib, Go": {cblosc.Zlib, func(src []byte, _ int) ([]byte, error) {
			r, err := zlib.NewReader(bytes.NewReader(src))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}},
		"lz4, here":   {cblosc.LZ4, lz4},
		"lz4hc, here": {cblosc.LZ4HC, lz4},
	}
	for name, d := range decoders {
		for _, split := range []cblosc.SplitMode{cblosc.SplitNever, cblosc.SplitAlways} {
			// Newer releases do not compress data whose bytes do not repeat.
			src := bytes.Repeat(testutil.Ramp(1000, 4), 100)
			c, err := chunk.Parse(compress(t, &cblosc.CParams{Codec: d.codec, Level: 5, TypeSize: 4, BlockSize: 8192, Threads: 1, Split: split}, src))
			require.NoError(t, err)
			b := compress(t, &cblosc.CParams{Codec: d.codec, Level: 5, TypeSize: 4, BlockSize: 8192, Threads: 1, Split: split}, src)
			var got []byte
			compressed := 0
			for i, block := range c.Blocks {
				want := map[bool]int{true: 4, false: 1}[split == cblosc.SplitAlways && i < len(c.Blocks)-1]
				require.Len(t, block.Streams, want, "%s: block %d", name, i)
				for _, s := range block.Streams {
					in := b[s.Offset : s.Offset+s.CLength()]
					switch s.Kind {
					case chunk.Compressed:
						out, err := d.decode(in, int(s.Length))
						require.NoError(t, err, name)
						got = append(got, out...)
						compressed++
					case chunk.StoredBytes:
						got = append(got, in...)
					case chunk.ZeroRun, chunk.ByteRun:
						got = append(got, bytes.Repeat([]byte{s.Value}, int(s.Length))...)
					}
				}
			}
			require.Equal(t, src, got, name)
			require.Positive(t, compressed, name)
		}
	}
}

// lz4 decodes an LZ4 block (lz4_Block_format.md) of at most n uncompressed bytes.
func lz4(src []byte, n int) ([]byte, error) {
	short := errors.New("lz4: truncated")
	length := func(nibble byte) (int, error) {
		k := int(nibble)
		for nibble == 15 {
			if len(src) == 0 {
				return 0, short
			}
			b := src[0]
			src = src[1:]
			k += int(b)
			if b != 255 {
				break
			}
		}
		return k, nil
	}
	var dst []byte
	for len(src) > 0 {
		token := src[0]
		src = src[1:]
		literals, err := length(token >> 4)
		if err != nil || literals > len(src) {
			return nil, short
		}
		dst = append(dst, src[:literals]...)
		src = src[literals:]
		if len(src) == 0 {
			break
		}
		if len(src) < 2 {
			return nil, short
		}
		back := int(src[0]) | int(src[1])<<8
		src = src[2:]
		match, err := length(token & 15)
		if err != nil || back == 0 || back > len(dst) || len(dst)+match+4 > n {
			return nil, short
		}
		for range match + 4 {
			dst = append(dst, dst[len(dst)-back])
		}
	}
	return dst, nil
}
