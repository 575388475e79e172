package cblosc_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

// bfloat16s returns a block of bfloat16 with the distribution of weights and activations.
func bfloat16s(size int) []byte {
	b := make([]byte, size)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range size / 2 {
		binary.LittleEndian.PutUint16(b[2*i:], uint16(math.Float32bits(float32(r.NormFloat64()*0.02))>>16))
	}
	return b
}

// blockCodec compresses a block and decompresses it.
type blockCodec struct {
	name       string
	compress   func(dst, src []byte) ([]byte, error)
	decompress func(dst, src []byte) ([]byte, error)
}

// blockCodecs returns the codecs that BenchmarkBFloat16 compares.
func blockCodecs(t testing.TB) (list []blockCodec) {
	for _, c := range []struct {
		name   string
		codec  cblosc.Codec
		level  int
		filter cblosc.FilterID
	}{
		{"blosc2 shuffle+lz4", cblosc.LZ4, 1, cblosc.Shuffle}, {"blosc2 shuffle+zstd", cblosc.Zstd, 1, cblosc.Shuffle},
		{"lz4", cblosc.LZ4, 9, cblosc.NoFilter}, {"zstd", cblosc.Zstd, 1, cblosc.NoFilter},
	} {
		p := cblosc.DefaultCParams()
		p.Codec, p.Level, p.TypeSize, p.Filters = c.codec, c.level, 2, [cblosc.MaxFilters]cblosc.Filter{5: {ID: c.filter}}
		pool, err := cblosc.NewPool(p, nil)
		require.NoError(t, err)
		closing(t, pool)
		list = append(list, blockCodec{c.name, pool.AppendCompressed, pool.AppendDecompressed})
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()); d.Close() })
	return append(list, blockCodec{"klauspost zstd", func(dst, src []byte) ([]byte, error) { return e.EncodeAll(src, dst), nil },
		func(dst, src []byte) ([]byte, error) { return d.DecodeAll(src, dst) }})
}

func TestBFloat16(t *testing.T) {
	src := bfloat16s(2 << 20)
	size := map[string]int{}
	for _, c := range blockCodecs(t) {
		chunk, err := c.compress(nil, src)
		require.NoError(t, err)
		back, err := c.decompress(nil, chunk)
		require.NoError(t, err)
		require.True(t, bytes.Equal(src, back), c.name)
		size[c.name] = len(chunk)
	}
	require.Less(t, size["blosc2 shuffle+zstd"], size["zstd"])
	require.Less(t, size["blosc2 shuffle+zstd"], size["klauspost zstd"])
	require.Less(t, size["blosc2 shuffle+lz4"], size["lz4"])
}

// BenchmarkBFloat16 compresses and decompresses blocks of 2 MiB in one thread.
func BenchmarkBFloat16(b *testing.B) {
	src := bfloat16s(2 << 20)
	for _, c := range blockCodecs(b) {
		chunk, err := c.compress(nil, src)
		require.NoError(b, err)
		dst := make([]byte, 0, 3<<20)
		for _, way := range []struct {
			name string
			run  func() error
		}{
			{"compress", func() error { _, err := c.compress(dst, src); return err }},
			{"decompress", func() error { _, err := c.decompress(dst, chunk); return err }},
		} {
			b.Run(c.name+"/"+way.name, func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					if err := way.run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(src))/float64(len(chunk)), "ratio")
			})
		}
	}
}
