package frameio_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// BenchmarkRandomChunks reads random chunks of 4 KiB of a frame on disk with one handle. It
// compares this package with the corresponding call of C-Blosc2, also with one handle.
func BenchmarkRandomChunks(b *testing.B) {
	const n, size = 20000, 4096
	f, _ := newFrame(b, n, size)
	b.Run("library", func(b *testing.B) {
		s, err := cblosc.OpenSChunk(f.Path())
		require.NoError(b, err)
		closing(b, s)
		dst := make([]byte, size)
		for i := range int64(n) { // each chunk is checked once
			_, err := s.DecompressChunk(dst, i)
			require.NoError(b, err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		b.SetBytes(size)
		for b.Loop() {
			if _, err := s.DecompressChunk(dst, r.Int64N(n)); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, goroutines := range []int{1, 2, 16} {
		b.Run(fmt.Sprintf("frameio/goroutines=%d", goroutines), func(b *testing.B) {
			b.SetBytes(size)
			var g sync.WaitGroup
			for k := range goroutines {
				g.Go(func() {
					dst := make([]byte, size)
					r := rand.New(rand.NewPCG(uint64(k), 1))
					for range (b.N + goroutines - 1) / goroutines {
						if _, err := f.Decompress(dst, r.Int64N(n)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			g.Wait()
		})
	}
}

// BenchmarkReadRegion reads regions of an array: the whole array, a plane across all chunks, and a
// box inside one chunk.
func BenchmarkReadRegion(b *testing.B) {
	shape, chunks, blocks := []int64{256, 256, 256}, []int32{64, 64, 64}, []int32{16, 16, 64}
	a, _ := newArray(b, true, shape, chunks, blocks)
	library, err := cblosc.OpenArray(a.Path())
	require.NoError(b, err)
	closing(b, library)
	for _, r := range []struct {
		name         string
		start, shape []int64
	}{
		{"all", []int64{0, 0, 0}, shape},
		{"plane", []int64{7, 0, 0}, []int64{1, 256, 256}},
		{"column", []int64{0, 0, 9}, []int64{256, 256, 1}},
		{"box", []int64{3, 70, 130}, []int64{10, 10, 10}},
	} {
		dst := make([]byte, product(r.shape)*4)
		b.Run(r.name+"/library", func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				if err := library.ReadRegion(dst, r.start, r.shape); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/frameio/workers=%d", r.name, workers), func(b *testing.B) {
				b.SetBytes(int64(len(dst)))
				for b.Loop() {
					if err := a.ReadRegion(b.Context(), dst, r.start, r.shape, workers); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkAppend writes a new frame in chunks of 4 KiB, one call for each chunk, and compares this
// with C-Blosc2. One iteration writes the whole frame, so C-Blosc2 needs a small number of
// iterations, for example -benchtime 1x. The environment must contain BLOSC_NTHREADS=1 for
// reproducible bytes. Without it, an append of C-Blosc2 starts four threads and takes longer.
func BenchmarkAppend(b *testing.B) {
	const size = 4096
	for _, n := range []int{2000, 20000} {
		all := testutil.Ramp(n*size, 1)
		p := cblosc.DefaultCParams()
		p.TypeSize, p.Codec = 4, cblosc.LZ4
		b.Run(fmt.Sprintf("chunks=%d/library", n), func(b *testing.B) {
			b.SetBytes(int64(len(all)))
			dir, i := b.TempDir(), 0
			for b.Loop() {
				s, err := cblosc.CreateSChunk(cblosc.Storage{Path: filepath.Join(dir, fmt.Sprint(i)), Contiguous: true, CParams: p})
				require.NoError(b, err)
				i++
				for at := 0; at < len(all); at += size {
					require.NoError(b, s.AppendBuffer(all[at:at+size]))
				}
				require.NoError(b, s.Close())
			}
		})
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("chunks=%d/frameio/workers=%d", n, workers), func(b *testing.B) {
				b.SetBytes(int64(len(all)))
				dir, i := b.TempDir(), 0
				for b.Loop() {
					w, err := frameio.Create(filepath.Join(dir, fmt.Sprint(i)), &frameio.Params{CParams: p, ChunkSize: size, Workers: workers})
					require.NoError(b, err)
					i++
					for at := 0; at < len(all); at += size {
						if _, err := w.Write(all[at : at+size]); err != nil {
							b.Fatal(err)
						}
					}
					require.NoError(b, w.Commit())
					require.NoError(b, w.Close())
				}
			})
		}
	}
}
