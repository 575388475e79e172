package chunkio_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
)

// field returns a smooth float32 field of the given shape with the noise of a measurement.
func field(shape ...int64) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	n := all(shape...).NumElems()
	last := shape[len(shape)-1]
	b := make([]byte, 0, 4*n)
	for i := range n {
		x, y := float64(i%last), float64(i/last)
		v := 280 + 20*math.Sin(x/40)*math.Cos(y/60) + math.Round(r.NormFloat64()*4)/16
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}

var (
	benchShape  = []int64{16, 512, 1024} // 32 MiB of float32
	benchChunks = []int64{1, 512, 512}   // 1 MiB
	f4          = h5.IEEEFloat(4, h5.LittleEndian)
)

func benchFile(b *testing.B, filters ...h5.Filter) (path string, src []byte) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "x.h5")
	src = field(benchShape...)
	f := create(b, path)
	d, err := f.Root().CreateDataset("d", f4, h5.SimpleSpace(benchShape...), &h5.DatasetOptions{ChunkShape: benchChunks, Filters: filters})
	require.NoError(b, err)
	require.NoError(b, d.WriteRegion(src, f4, all(benchShape...)))
	require.NoError(b, f.Close())
	return path, src
}

var deflateShuffle = []h5.Filter{h5.Shuffle(), h5.Deflate(4)}

func blosc2Filter(codec uint32) []h5.Filter {
	return []h5.Filter{{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, codec}}}
}

// how lists the compared implementations: libhdf5, and this package with several numbers of
// workers.
var how = []struct {
	name string
	o    chunkio.Options
}{
	{"library", chunkio.Options{Library: true}},
	{"workers=1", chunkio.Options{Workers: 1}},
	{"workers=2", chunkio.Options{Workers: 2}},
	{"workers=all", chunkio.Options{}},
}

func BenchmarkRead(b *testing.B) {
	for _, p := range []struct {
		name    string
		filters []h5.Filter
	}{
		{"deflate+shuffle", deflateShuffle}, {"blosc2-lz4", blosc2Filter(1)}, {"blosc2-zstd", blosc2Filter(5)},
		{"lzf", []h5.Filter{h5.Shuffle(), {ID: filter.IDLZF, Optional: true}}}, {"zstd", []h5.Filter{h5.Shuffle(), {ID: filter.IDZstd}}},
		{"bitshuffle-lz4", []h5.Filter{{ID: filter.IDBitShuffle, Values: []uint32{0, 2}}}},
	} {
		b.Run("filters="+p.name, func(b *testing.B) {
			path, src := benchFile(b, p.filters...)
			got := make([]byte, len(src))
			for _, h := range how {
				b.Run(h.name, func(b *testing.B) {
					// The file is opened for each read, so that neither the chunk cache of libhdf5
					// nor the index of this package is filled.
					b.SetBytes(int64(len(src)))
					for b.Loop() {
						f, d := open(b, path, h5.ReadOnly, "d")
						_, err := chunkio.Read(context.Background(), d, got, f4, all(benchShape...), &h.o)
						require.NoError(b, err)
						require.NoError(b, f.Close())
					}
				})
			}
			require.Equal(b, src, got)
		})
	}
}

// BenchmarkReadSlice reads one plane in each direction through larger Blosc2 chunks.
func BenchmarkReadSlice(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.h5")
	shape, chunks := []int64{128, 256, 256}, []int64{64, 128, 128} // chunks of 4 MiB
	src := field(shape...)
	f := create(b, path)
	d, err := f.Root().CreateDataset("d", f4, h5.SimpleSpace(shape...), &h5.DatasetOptions{ChunkShape: chunks, Filters: blosc2Filter(5)})
	require.NoError(b, err)
	_, err = chunkio.Write(context.Background(), d, src, f4, all(shape...), nil)
	require.NoError(b, err)
	require.NoError(b, f.Close())
	for axis := range 3 {
		r := all(shape...)
		r = h5.Region{Start: []int64{0, 0, 0}, Count: append([]int64(nil), r.Count...)}
		r.Start[axis], r.Count[axis] = 33, 1
		got := make([]byte, r.NumElems()*4)
		for _, h := range how {
			b.Run(fmt.Sprintf("axis=%d/%s", axis, h.name), func(b *testing.B) {
				b.SetBytes(int64(len(got)))
				for b.Loop() {
					f, d := open(b, path, h5.ReadOnly, "d")
					_, err := chunkio.Read(context.Background(), d, got, f4, r, &h.o)
					require.NoError(b, err)
					require.NoError(b, f.Close())
				}
			})
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	src := field(benchShape...)
	for _, p := range []struct {
		name    string
		filters []h5.Filter
	}{
		{"deflate+shuffle", deflateShuffle}, {"blosc2-zstd", blosc2Filter(5)}, {"zstd", []h5.Filter{h5.Shuffle(), {ID: filter.IDZstd}}},
	} {
		for _, h := range how {
			b.Run("filters="+p.name+"/"+h.name, func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "x.h5")
				b.SetBytes(int64(len(src)))
				stored := int64(0)
				for b.Loop() {
					f := create(b, path)
					d, err := f.Root().CreateDataset("d", f4, h5.SimpleSpace(benchShape...), &h5.DatasetOptions{ChunkShape: benchChunks, Filters: p.filters})
					require.NoError(b, err)
					_, err = chunkio.Write(context.Background(), d, src, f4, all(benchShape...), &h.o)
					require.NoError(b, err)
					stored, _, err = d.Stored()
					require.NoError(b, err)
					require.NoError(b, f.Close())
				}
				b.ReportMetric(float64(len(src))/float64(stored), "ratio")
			})
		}
	}
}
