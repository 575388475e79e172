package cblosc_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/need"
)

// cLoop builds testdata/loop.c, the same work in a C program.
func cLoop(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "loop")
	out, err := exec.Command("cc", "-O2", "-I../third_party/build/include", "testdata/loop.c",
		"-o", program, "-L../third_party/build/lib", "-lgoblosc2", "-lpthread", "-ldl", "-lm").CombinedOutput()
	if err != nil {
		need.Missing(b, "the C loop does not build: %v\n%s", err, out)
	}
	return program
}

// runLoop reports the time of the C program as this benchmark's own.
func runLoop(b *testing.B, program, mode string, p *cblosc.CParams, data []byte, size int) {
	cmd := exec.Command(program, mode, p.Codec.String(), strconv.Itoa(p.Level), strconv.Itoa(p.TypeSize), strconv.Itoa(size), strconv.Itoa(b.N))
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(ns, "ns/op")
	b.ReportMetric(float64(len(data))/ns*1e3, "MB/s")
}

// A batch of records against a C program that loops over them, and one buffer at a
// time. One operation is all of them: 4 MiB.
func BenchmarkBatch(b *testing.B) {
	program := cLoop(b)
	data := ramp(4<<20, 1)
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
			work := []struct {
				name string
				one  func() error
			}{
				{"compress/batch", func() error { return c.CompressBatch(chunks, src) }},
				{"compress/pool", func() error { return pool.CompressBatch(chunks, src) }},
				{"compress/single", func() error {
					dst := chunks.Bytes()
					for _, item := range src.All() {
						if _, err := c.Compress(dst[:cblosc.MaxCompressedSize(size)], item); err != nil {
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
			for i, w := range work {
				b.Run(prefix+w.name, func(b *testing.B) {
					b.SetBytes(int64(len(data)))
					for b.Loop() {
						if err := w.one(); err != nil {
							b.Fatal(err)
						}
					}
				})
				if i%3 == 2 {
					mode := strings.TrimSuffix(w.name, "/single")
					if err := c.CompressBatch(chunks, src); err != nil {
						b.Fatal(err)
					}
					b.Run(prefix+mode+"/peer=C", func(b *testing.B) { runLoop(b, program, mode, p, data, size) })
				}
			}
		}
	}
}
