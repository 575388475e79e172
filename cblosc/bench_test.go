package cblosc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/blosc1"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// BenchmarkCompress measures each codec. The throughput of all benchmarks counts uncompressed
// bytes.
func BenchmarkCompress(b *testing.B) {
	src := testutil.Ramp(64<<10, 1)
	for _, codec := range cblosc.Codecs() {
		b.Run("codec="+codec.String()+"/64KiB", func(b *testing.B) {
			p := cparams(4)
			p.Codec = codec
			c := newCompressor(b, p)
			dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Compress(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecompress(b *testing.B) {
	src := testutil.Ramp(64<<10, 1)
	for _, codec := range cblosc.Codecs() {
		b.Run("codec="+codec.String()+"/64KiB", func(b *testing.B) {
			p := cparams(4)
			p.Codec = codec
			chunk, d := compress(b, p, src), newDecompressor(b)
			dst := make([]byte, len(src))
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Decompress(dst, chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadRegion(b *testing.B) {
	for _, edge := range []int64{1, 100, 1000} {
		for name, st := range storages(b, cparams(4)) { // a new directory each time
			b.Run(fmt.Sprintf("%s/edge=%d", name, edge), func(b *testing.B) {
				a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{1000, 1000}, ChunkShape: []int32{500, 500}, Blocks: []int32{50, 500}, Storage: st})
				if err != nil {
					b.Fatal(err)
				}
				closing(b, a)
				if err := a.WriteRegion(testutil.Ramp(4_000_000, 1), []int64{0, 0}, []int64{1000, 1000}); err != nil {
					b.Fatal(err)
				}
				start, shape := []int64{0, 0}, []int64{edge, edge}
				dst := make([]byte, 4*edge*edge)
				b.SetBytes(int64(len(dst)))
				b.ReportAllocs()
				for b.Loop() {
					if err := a.ReadRegion(dst, start, shape); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCompressBlosc1 compares compression under the global lock, one call at a time in the
// process, with contexts, one for each processor.
func BenchmarkCompressBlosc1(b *testing.B) {
	src := testutil.Ramp(1<<20, 3)
	p := cparams1(cblosc.LZ4, 5, 4, cblosc.Shuffle)
	pool, err := cblosc.NewPool(p, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, pool.Close()) }()
	for _, way := range []struct {
		name     string
		compress func(dst, src []byte) (int, error)
	}{
		{"lock", func(dst, src []byte) (int, error) { return cblosc.CompressBlosc1(p, dst, src) }},
		{"pool", func(dst, src []byte) (int, error) { return blosc1.Compress(pool, p, dst, src) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.RunParallel(func(pb *testing.PB) {
				dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
				for pb.Next() {
					if _, err := way.compress(dst, src); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
