package cblosc_test

import (
	"fmt"
	"testing"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// BenchmarkBatch compares batches of records, with a context and with a pool, with one call per
// record. One operation processes all records, which are 4 MiB. The program in the directory bench
// also has a loop in C.
func BenchmarkBatch(b *testing.B) {
	data := testutil.Ramp(4<<20, 1)
	for _, codec := range []cblosc.Codec{cblosc.LZ4, cblosc.Zstd} {
		for _, size := range []int{4 << 10, 64 << 10} {
			p := cparams(4)
			p.Codec = codec
			src, err := cblosc.NewBatch(data, size)
			if err != nil {
				b.Fatal(err)
			}
			chunks, back := new(cblosc.Batch), new(cblosc.Batch)
			c, d := newCompressor(b, p), newDecompressor(b)
			pool, err := cblosc.NewPool(p, nil)
			if err != nil {
				b.Fatal(err)
			}
			closing(b, pool)
			if err := c.CompressBatch(chunks, src); err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, cblosc.MaxCompressedSize(size))
			work := []struct {
				name string
				one  func() error
			}{
				{"compress/batch", func() error { return c.CompressBatch(chunks, src) }},
				{"compress/pool", func() error { return pool.CompressBatch(chunks, src) }},
				{"compress/single", func() error {
					for _, item := range src.All() {
						if _, err := c.Compress(dst, item); err != nil {
							return err
						}
					}
					return nil
				}},
				{"decompress/batch", func() error { return d.DecompressBatch(back, chunks) }},
				{"decompress/pool", func() error { return pool.DecompressBatch(back, chunks) }},
				{"decompress/single", func() error {
					for i, item := range chunks.All() {
						if _, err := d.Decompress(back.Bytes()[i*size:(i+1)*size], item); err != nil {
							return err
						}
					}
					return nil
				}},
			}
			prefix := fmt.Sprintf("codec=%v/%dKiB/", codec, size>>10)
			for _, w := range work {
				b.Run(prefix+w.name, func(b *testing.B) {
					b.SetBytes(int64(len(data)))
					for b.Loop() {
						if err := w.one(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
