package cblosc_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// FuzzDecompress checks that any input gives an error or data, and that no bytes after the buffer
// are written.
func FuzzDecompress(f *testing.F) {
	for _, codec := range cblosc.Codecs() {
		for _, split := range []cblosc.SplitMode{cblosc.SplitAlways, cblosc.SplitNever} {
			p := cparams(4)
			p.Codec, p.Split, p.BlockSize = codec, split, 256
			p.Filters[4].ID = cblosc.Delta
			f.Add(compress(f, p, testutil.Ramp(1000, 1)))
			f.Add(compress(f, p, testutil.Noise(100, 1)))
		}
	}
	for k := cblosc.Zeros; k <= cblosc.Uninit; k++ {
		var value []byte
		if k == cblosc.Repeated {
			value = []byte{1, 2, 3, 4}
		}
		b, err := cblosc.SpecialChunk(cparams(4), k, 100, value)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(blosc1Chunk(testutil.Noise(40, 1)))
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := d.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := cblosc.Info(b)
		if err != nil || info.NBytes > 1<<20 {
			return
		}
		dst := make([]byte, info.NBytes+8)
		for i := range 8 {
			dst[info.NBytes+i] = 0xEE
		}
		if n, err := d.Decompress(dst[:info.NBytes:info.NBytes], b); err == nil && n != info.NBytes {
			t.Errorf("%d bytes, but the header has %d", n, info.NBytes)
		}
		_, _ = d.Items(dst[:0], b, 0, 0)
		for i := range 8 {
			if dst[info.NBytes+i] != 0xEE {
				t.Errorf("byte %d behind the data was written", i)
			}
		}
	})
}

// FuzzOpenArray checks that any input gives an error or an array that can be read.
func FuzzOpenArray(f *testing.F) {
	for _, p := range []*cblosc.ArrayParams{
		{},
		{Shape: []int64{0, 3}, ChunkShape: []int32{2, 2}, Blocks: []int32{1, 2}},
		{Shape: []int64{7, 5}, ChunkShape: []int32{4, 3}, Blocks: []int32{2, 2}, DType: "<i8", Meta: []cblosc.Metalayer{{Name: "m", Content: []byte("abc")}}},
	} {
		a, err := cblosc.CreateArray(p)
		if err != nil {
			f.Fatal(err)
		}
		n := int64(8)
		for _, s := range p.Shape {
			n *= s
		}
		if err := a.WriteRegion(testutil.Ramp(int(n), 1), make([]int64, len(p.Shape)), a.Shape()); err != nil {
			f.Fatal(err)
		}
		if err := a.SChunk().VLMeta().Add("v", []byte("value")); err != nil {
			f.Fatal(err)
		}
		b, err := a.Bytes()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		if err := a.Close(); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		readAll(t, func() (*cblosc.Array, error) { return cblosc.OpenArrayBytes(b) })
	})
}

// FuzzNames checks that ParseCodec accepts only results of String.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"shuffle", "codec 36", "zfp_acc", "blosclz", "zstd", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if x, err := cblosc.ParseCodec(s); err != nil {
			require.ErrorIs(t, err, cblosc.ErrParam)
		} else {
			require.Equal(t, s, x.String())
		}
	})
}

// FuzzArrayMeta checks that any input gives an error or the shape of an array.
func FuzzArrayMeta(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		shape, parts := make([]int64, n), make([]int32, n)
		for i := range shape {
			shape[i], parts[i] = int64(i)+5, 2
		}
		b, err := cblosc.EncodeArrayMeta(shape, parts, parts, "<f4")
		require.NoError(f, err)
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, caterva bool) {
		shape, chunks, blocks, _, err := cblosc.DecodeArrayMeta(b, caterva)
		if err != nil {
			require.True(t, errors.Is(err, cblosc.ErrFormat) || errors.Is(err, errors.ErrUnsupported), "%v", err)
			return
		}
		require.Len(t, chunks, len(shape))
		require.Len(t, blocks, len(shape))
		for i, n := range shape {
			require.GreaterOrEqual(t, n, int64(0))
			require.GreaterOrEqual(t, chunks[i], blocks[i])
		}
	})
}
