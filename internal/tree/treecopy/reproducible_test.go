// Tests of copies that must write the same file with any number of workers and any scheduling.
package treecopy_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// uneven is an array whose reads complete out of order. Every third read waits until the second
// read after it begins, so that another worker begins that one.
type uneven struct {
	ndarray.Backend
	hard bool // wait without a limit; otherwise yield to other goroutines at most 2,000 times

	mu     sync.Mutex
	begun  int           // number of reads
	bytes  int64         // bytes of these reads
	turn   chan struct{} // closed when the awaited read begins
	at     int           // index of the awaited read
	waited int
}

// Unwrap returns the array in memory.
func (u *uneven) Unwrap() ndarray.Backend { return u.Backend }

func (u *uneven) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	m := u.Meta()
	u.mu.Lock()
	k := u.begun
	u.begun++
	u.bytes += int64(len(dst))
	last := u.bytes >= m.NumElems()*int64(m.DType.Size)
	if u.turn != nil && (k >= u.at || last) {
		close(u.turn)
		u.turn = nil
	}
	var turn chan struct{}
	if k%3 == 0 && u.turn == nil && !last {
		turn = make(chan struct{})
		u.turn, u.at = turn, k+2
		u.waited++
	}
	u.mu.Unlock()
	if turn != nil && u.hard {
		<-turn
	}
	for i := 0; turn != nil && i < 2000; i++ {
		select {
		case <-turn:
			turn = nil
		default:
			runtime.Gosched()
		}
	}
	return u.Backend.ReadRegion(ctx, dst, r, 0)
}

// seeded fills an array with numbers. Some of its chunks compress better than others.
func seeded(t require.TestingT, a *ndarray.Array, seed uint64, zeros bool) {
	b := make([]byte, a.NumElems()*int64(a.DType().Size))
	x := seed*2 + 1
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 60)
		if i/300%3 == 0 {
			b[i] = byte(x >> 52)
		}
		if zeros && i/2000%2 == 0 {
			b[i] = 0
		}
	}
	if a.DType().Kind == ndarray.Bool {
		for i := range b {
			b[i] &= 1
		}
	}
	require.NoError(t, a.Write(bg, b, ndarray.Whole(a.Shape())))
}

// filesOf returns the contents of a file, or of all files in a directory.
func filesOf(t require.TestingT, name string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		all[p[len(name):]] = string(b)
		return err
	}))
	return all
}

// ordered are storages for arrays. In a serial one only one worker can write.
var ordered = []struct {
	name   string
	target string
	codec  string
	filter []string
	opts   *hyperslab.CreateOptions
	serial bool
}{
	{"hdf5 deflate", "x.h5:/a", "deflate", []string{"shuffle"}, nil, false},
	{"hdf5 zstd", "x.h5:/g/a", "zstd", nil, nil, false},
	{"hdf5 blosc2", "x.h5:/a", "blosc2/lz4", []string{"shuffle"}, nil, false},
	{"hdf5 lzf and checksums", "x.h5:/a", "lzf", []string{"fletcher32"}, nil, false},
	{"hdf5 chunks as they are", "x.h5:/a", "none", nil, nil, false},
	{"hdf5 by the library", "x.h5:/a", "deflate", nil, &hyperslab.CreateOptions{Library: true}, true},
	{"b2nd", "x.b2nd", "zstd", []string{"shuffle"}, nil, false},
	{"b2nd lz4", "x.b2nd", "lz4", []string{"bitshuffle"}, nil, false},
	{"sparse b2nd", "x.b2nd", "zstd", nil, &hyperslab.CreateOptions{Sparse: true}, false},
	{"caterva", "x.caterva", "blosclz", nil, &hyperslab.CreateOptions{Format: hyperslab.Caterva}, false},
	{"b2nd by the library", "x.b2nd", "zstd", nil, &hyperslab.CreateOptions{Library: true}, true},
	{"bcolz", "x.bcolz", "lz4", []string{"shuffle"}, nil, false},
}

func compressionOf(codec string, filters []string) *ndarray.Compression {
	c := &ndarray.Compression{Codec: codec, Level: 3, Filters: filters}
	if codec == "none" || codec == "lzf" {
		c.Level = 0
	}
	return c
}

// made copies src to a new array and returns its files.
func made(t require.TestingT, dir, target string, spec ndarray.Spec, src *ndarray.Array, o *ndarray.CopyOptions, opts *hyperslab.CreateOptions) (map[string]string, ndarray.CopyStats) {
	loc, err := locate.Parse(target)
	require.NoError(t, err)
	d, err := hyperslab.Create(bg, filepath.Join(dir, target), spec, opts)
	require.NoError(t, err)
	stats, err := ndarray.Copy(bg, d.Array, src, o)
	require.NoError(t, errors.Join(err, d.Commit(bg), d.Close()))
	return filesOf(t, filepath.Join(dir, loc.File)), stats
}

// TestCopy_reproducibleOrder checks that chunks are stored in the order of the grid if reads
// complete in another order.
func TestCopy_reproducibleOrder(t *testing.T) {
	for _, x := range ordered {
		t.Run(x.name, func(t *testing.T) {
			shape, chunk := []int64{512, 256}, []int64{16, 256}
			spec := ndarray.Spec{Shape: shape, ChunkShape: []int64{4, 256}, DType: parsed(t, "<f8"), Compression: compressionOf(x.codec, x.filter)}
			m, err := mem.New(ndarray.Spec{Shape: shape, ChunkShape: chunk, DType: spec.DType})
			require.NoError(t, err)
			var want map[string]string
			for _, workers := range []int{1, 2, 8, 8} {
				u := &uneven{Backend: m, hard: workers > 1 && !x.serial}
				src, err := ndarray.New(u)
				require.NoError(t, err)
				if want == nil {
					seeded(t, src, 3, false)
				}
				got, stats := made(t, t.TempDir(), x.target, spec, src, &ndarray.CopyOptions{Workers: workers, Memory: 1 << 20}, x.opts)
				require.Equal(t, u.hard, stats.Workers > 1, "%+v", stats)
				if u.hard {
					require.Positive(t, u.waited)
				}
				if want == nil {
					want = got
				}
				require.Equal(t, len(want), len(got))
				for name, b := range want {
					require.True(t, b == got[name], "%s of %d workers", name, workers)
				}
			}
		})
	}
}

// TestCopy_reproducible checks the same with random shapes, chunk shapes, dtypes and memory limits.
// With little memory, chunks wait in a temporary file or are written in parts.
func TestCopy_reproducible(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SampledFrom(ordered).Draw(rt, "storage")
		rank := rapid.IntRange(1, 3).Draw(rt, "rank")
		shape, from, to := make([]int64, rank), make([]int64, rank), make([]int64, rank)
		most := []int64{4000, 90, 22}[rank-1]
		for i := range shape {
			shape[i] = rapid.Int64Range(1, most).Draw(rt, "length")
			from[i] = rapid.Int64Range(max(1, shape[i]/9), shape[i]).Draw(rt, "from")
			to[i] = rapid.Int64Range(max(1, shape[i]/9), shape[i]).Draw(rt, "to")
		}
		spec := ndarray.Spec{Shape: shape, ChunkShape: to, DType: parsed(rt, rapid.SampledFrom([]string{"<i4", ">f8", "|S3", "<u2"}).Draw(rt, "dtype")),
			Compression: compressionOf(x.codec, x.filter)}
		if filepath.Ext(x.target) == ".bcolz" && rank > 1 {
			copy(to[1:], shape[1:])
		}
		m, err := mem.New(ndarray.Spec{Shape: shape, ChunkShape: from, DType: spec.DType})
		require.NoError(rt, err)
		memory := rapid.SampledFrom([]int64{64 << 20, 256 << 10, 20 << 10, 3 << 10}).Draw(rt, "memory")
		zeros := rapid.Bool().Draw(rt, "zeros")
		dir, err := os.MkdirTemp(base, "")
		require.NoError(rt, err)
		defer func() { require.NoError(rt, os.RemoveAll(dir)) }()
		var want map[string]string
		for i, workers := range []int{1, 2, 8} {
			src, err := ndarray.New(&uneven{Backend: m})
			require.NoError(rt, err)
			if i == 0 {
				seeded(rt, src, rapid.Uint64().Draw(rt, "seed"), zeros)
			}
			own := filepath.Join(dir, string(rune('a'+i)))
			require.NoError(rt, os.Mkdir(own, 0o777))
			got, _ := made(rt, own, x.target, spec, src, &ndarray.CopyOptions{Workers: workers, Memory: memory, TempDir: dir}, x.opts)
			if i == 0 {
				want = got
			}
			require.Equal(rt, len(want), len(got))
			for name, b := range want {
				require.True(rt, b == got[name], "%s of %d workers", name, workers)
			}
		}
		left, err := os.ReadDir(dir)
		require.NoError(rt, err)
		require.Len(rt, left, 3, "a temporary file")
	})
}

// TestCopy_reproducibleStoredChunks checks the same for chunks that are copied without
// recompression, in an array in which some chunks are not stored.
func TestCopy_reproducibleStoredChunks(t *testing.T) {
	for _, c := range passages {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			spec := ndarray.Spec{Shape: []int64{200, 130}, ChunkShape: []int64{10, 13}, DType: parsed(t, "<i4"),
				Compression: &ndarray.Compression{Codec: c.codec[0], Level: 4, Filters: c.filters}}
			d, err := hyperslab.Create(bg, filepath.Join(dir, c.src), spec, nil)
			require.NoError(t, err)
			part := ndarray.Region{Start: []int64{40, 13}, Shape: []int64{110, 91}} // the rest is not stored
			values := make([]byte, part.NumElems()*4)
			for i := range values {
				values[i] = byte(i * i >> 3)
			}
			require.NoError(t, errors.Join(d.Write(bg, values, part), d.Commit(bg), d.Close()))
			src, err := hyperslab.Open(bg, filepath.Join(dir, c.src), nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, src.Close()) }()
			spec.Compression = &ndarray.Compression{Codec: c.codec[1], Level: 4, Filters: c.filters}
			spec.BlockShape = src.Meta().BlockShape
			var want map[string]string
			for _, workers := range []int{1, 2, 8, 8} {
				got, stats := made(t, t.TempDir(), c.dst, spec, src, &ndarray.CopyOptions{Workers: workers, Memory: 64 << 10}, nil)
				if want == nil {
					want = got
				}
				require.Positive(t, stats.Passed)
				require.Equal(t, len(want), len(got))
				for name, b := range want {
					require.True(t, b == got[name], "%s of %d workers", name, workers)
				}
			}
		})
	}
}
