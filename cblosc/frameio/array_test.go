package frameio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// drawArray creates a random array with C-Blosc2.
func drawArray(t *rapid.T) (*cblosc.Array, string) {
	size := itemSizes.Draw(t, "item size")
	rank := rapid.IntRange(0, 5).Draw(t, "rank")
	extent := []int{1, 3000, 60, 18, 9, 6}[rank]
	p := &cblosc.ArrayParams{Storage: cblosc.Storage{
		Path:       filepath.Join(temp(t), "array"),
		Contiguous: rapid.Bool().Draw(t, "contiguous"),
		CParams:    drawCParams(t, size),
	}}
	for range rank {
		n := rapid.IntRange(1, extent).Draw(t, "extent")
		chunk := rapid.IntRange(1, n+1).Draw(t, "chunk")
		p.Shape = append(p.Shape, int64(n))
		p.ChunkShape = append(p.ChunkShape, int32(chunk))
		p.Blocks = append(p.Blocks, int32(rapid.IntRange(1, chunk).Draw(t, "block")))
	}
	limitChunks(p)
	a, err := cblosc.CreateArray(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	for i := range rapid.IntRange(0, 4).Draw(t, "writes") {
		start, shape := drawRegion(t, p.Shape)
		src := testutil.Ramp(product(shape)*size, uint64(i))
		if rapid.Bool().Draw(t, "noise") {
			src = testutil.Noise(len(src), uint64(i))
		}
		require.NoError(t, a.WriteRegion(src, start, shape))
	}
	s := a.SChunk()
	if s.NumChunks() > 0 && rapid.Bool().Draw(t, "special") {
		cp := *p.Storage.CParams
		cp.BlockSize = size
		for _, b := range p.Blocks {
			cp.BlockSize *= int(b)
		}
		kind, value := cblosc.Repeated, testutil.Noise(size, 5)
		if (size == 4 || size == 8) && rapid.Bool().Draw(t, "NaN") {
			kind, value = cblosc.NaNs, nil
		}
		b, err := cblosc.SpecialChunk(&cp, kind, s.ChunkSize(), value)
		require.NoError(t, err)
		require.NoError(t, s.UpdateChunk(rapid.Int64Range(0, s.NumChunks()-1).Draw(t, "which"), b))
	}
	return a, p.Storage.Path
}

// limitChunks increases the chunk size until there are at most 64 chunks, because C-Blosc2 is slow
// with many.
func limitChunks(p *cblosc.ArrayParams) {
	for {
		total, most := 1, 0
		for d := range p.Shape {
			n := (int(p.Shape[d]) + int(p.ChunkShape[d]) - 1) / int(p.ChunkShape[d])
			total *= n
			if n > (int(p.Shape[most])+int(p.ChunkShape[most])-1)/int(p.ChunkShape[most]) {
				most = d
			}
		}
		if total <= 64 {
			return
		}
		p.ChunkShape[most] *= 2
	}
}

func drawRegion(t *rapid.T, of []int64) (start, shape []int64) {
	for _, n := range of {
		from := rapid.Int64Range(0, n).Draw(t, "start")
		if rapid.IntRange(0, 3).Draw(t, "all") == 0 {
			from = 0
		}
		start = append(start, from)
		shape = append(shape, rapid.Int64Range(0, n-from).Draw(t, "count"))
		if rapid.IntRange(0, 3).Draw(t, "to the end") == 0 {
			shape[len(shape)-1] = n - from
		}
	}
	return start, shape
}

func product(shape []int64) int {
	n := 1
	for _, v := range shape {
		n *= int(v)
	}
	return n
}

// cut returns a region of an array of items of size bytes, computed element by element.
func cut(all []byte, of, start, shape []int64, size int) []byte {
	out := []byte{}
	for k := range product(shape) {
		at, step := 0, 1
		for d := len(of) - 1; d >= 0; d-- {
			at += (int(start[d]) + k%int(shape[d])) * step
			k /= int(shape[d])
			step *= int(of[d])
		}
		out = append(out, all[at*size:(at+1)*size]...)
	}
	return out
}

// TestArray_readAgainstLibrary checks that regions of any array are identical to those that
// C-Blosc2 reads.
func TestArray_readAgainstLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, path := drawArray(t)
		a, err := frameio.OpenArray(path)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		require.Equal(t, want.Shape(), a.Shape())
		require.Equal(t, want.ChunkShape(), a.ChunkShape())
		require.Equal(t, want.Blocks(), a.Blocks())
		require.Equal(t, want.DType(), a.DType())
		require.Equal(t, want.ItemSize(), a.ItemSize())
		require.Equal(t, path, a.Path())
		require.Equal(t, want.SChunk().NumChunks(), a.Frame().NumChunks())
		zero := make([]int64, len(want.Shape()))
		all := make([]byte, product(want.Shape())*a.ItemSize())
		require.NoError(t, want.ReadRegion(all, zero, want.Shape()))
		p, err := want.SChunk().CParams()
		require.NoError(t, err)
		for k := range rapid.IntRange(1, 4).Draw(t, "regions") {
			start, shape := zero, want.Shape()
			if k > 0 {
				start, shape = drawRegion(t, want.Shape())
			}
			library := cut(all, want.Shape(), start, shape, a.ItemSize())
			got := bytes.Repeat([]byte{0xA5}, len(library))
			if p.Filters[0].ID != cblosc.Delta { // see TestDeltaRegions
				require.NoError(t, want.ReadRegion(got, start, shape))
				require.True(t, bytes.Equal(library, got))
			}
			require.NoError(t, a.ReadRegion(t.Context(), got, start, shape, rapid.IntRange(0, 3).Draw(t, "workers")))
			require.True(t, bytes.Equal(library, got), "start %v shape %v of %v in chunks %v blocks %v", start, shape, a.Shape(), a.ChunkShape(), a.Blocks())
		}
	})
}

// TestDeltaRegions checks reads of regions from chunks with Delta. C-Blosc2 2.17.1 skips the first
// block of a chunk if the region does not intersect it, although Delta needs it, and returns wrong
// values. This package must therefore decode such chunks as a whole.
func TestDeltaRegions(t *testing.T) {
	p := cblosc.DefaultCParams()
	p.TypeSize = 4
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{0: {ID: cblosc.Delta}, 5: {ID: cblosc.Shuffle}}
	path := filepath.Join(t.TempDir(), "array")
	w, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{4096}, ChunkShape: []int32{2048}, Blocks: []int32{256},
		Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: p}})
	require.NoError(t, err)
	all := testutil.Ramp(4096*4, 1)
	require.NoError(t, w.WriteRegion(all, []int64{0}, []int64{4096}))
	require.NoError(t, w.Close())
	a, err := frameio.OpenArray(path)
	require.NoError(t, err)
	closing(t, a)
	got := make([]byte, 400)
	require.NoError(t, a.ReadRegion(t.Context(), got, []int64{1000}, []int64{100}, 1))
	require.Equal(t, all[4000:4400], got)
}

// newArray writes an array of 4-byte elements with rising values.
func newArray(t testing.TB, contiguous bool, shape []int64, chunks, blocks []int32) (*frameio.Array, []byte) {
	t.Helper()
	p := cblosc.DefaultCParams()
	p.TypeSize, p.Codec = 4, cblosc.LZ4
	path := filepath.Join(t.TempDir(), "array")
	w, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: shape, ChunkShape: chunks, Blocks: blocks, DType: "<u4",
		Storage: cblosc.Storage{Path: path, Contiguous: contiguous, CParams: p}})
	require.NoError(t, err)
	all := testutil.Ramp(product(shape)*4, 11)
	require.NoError(t, w.WriteRegion(all, make([]int64, len(shape)), shape))
	require.NoError(t, w.Close())
	a, err := frameio.OpenArray(path)
	require.NoError(t, err)
	closing(t, a)
	return a, all
}

func TestArrayManyGoroutines(t *testing.T) {
	for _, contiguous := range []bool{true, false} {
		t.Run(fmt.Sprintf("contiguous=%v", contiguous), func(t *testing.T) {
			const rows, cols = 300, 200
			a, all := newArray(t, contiguous, []int64{rows, cols}, []int32{70, 60}, []int32{20, 25})
			errs := make([]error, 64)
			var g sync.WaitGroup
			for k := range errs {
				g.Go(func() {
					r := rand.New(rand.NewPCG(uint64(k), 0))
					for range 10 {
						i, j := r.Int64N(rows), r.Int64N(cols)
						n, m := 1+r.Int64N(rows-i), 1+r.Int64N(cols-j)
						dst := make([]byte, n*m*4)
						if err := a.ReadRegion(context.Background(), dst, []int64{i, j}, []int64{n, m}, 1+k%2); err != nil {
							errs[k] = err
							return
						}
						for row := range n {
							at := ((i+row)*cols + j) * 4
							if !bytes.Equal(all[at:at+m*4], dst[row*m*4:(row+1)*m*4]) {
								errs[k] = fmt.Errorf("row %d of [%d:%d, %d:%d] differs", row, i, i+n, j, j+m)
								return
							}
						}
					}
				})
			}
			g.Wait()
			require.NoError(t, errors.Join(errs...))
		})
	}
}

func TestReadRegionRefuses(t *testing.T) {
	a, _ := newArray(t, true, []int64{30, 20}, []int32{10, 10}, []int32{5, 5})
	for _, r := range [][2][]int64{
		{{0}, {1}},
		{{0, 0, 0}, {1, 1, 1}},
		{{-1, 0}, {1, 1}},
		{{0, 0}, {1, -1}},
		{{31, 0}, {0, 1}},
		{{0, 1}, {1, 20}},
	} {
		err := a.ReadRegion(t.Context(), nil, r[0], r[1], 1)
		require.ErrorIs(t, err, cblosc.ErrRegion, "%v", r)
	}
	err := a.ReadRegion(t.Context(), make([]byte, 23), []int64{1, 1}, []int64{2, 3}, 1)
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "buffer of 23 bytes, region of 24")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, a.ReadRegion(ctx, make([]byte, 2400), []int64{0, 0}, []int64{30, 20}, 2), context.Canceled)
	require.NoError(t, a.ReadRegion(t.Context(), nil, []int64{3, 3}, []int64{0, 5}, 2))
}

func TestOpenArrayRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	writeFrame(t, path, true, nil, testutil.Ramp(80, 1))
	_, err := frameio.OpenArray(path)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	require.ErrorContains(t, err, "b2nd")
}

// TestClosedArray checks that a closed array rejects all reads, also those of empty regions.
func TestClosedArray(t *testing.T) {
	path := filepath.Join(t.TempDir(), "array")
	w, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{1}, Storage: cblosc.Storage{Path: path, Contiguous: true}})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	a, err := frameio.OpenArray(path)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.ReadRegion(t.Context(), nil, []int64{0}, []int64{0}, 1), cblosc.ErrClosed)
	require.ErrorIs(t, a.ReadRegion(t.Context(), make([]byte, 32), []int64{0}, []int64{4}, 2), cblosc.ErrClosed)
	require.ErrorIs(t, a.Close(), cblosc.ErrClosed)
}

// counted counts the bytes read.
type counted struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

// TestArray_partialBlocks checks that only the blocks that a region intersects are read from a
// large chunk. The values must be the same as those that C-Blosc2 reads, and a truncated block must
// be reported as an error of its chunk.
func TestArray_partialBlocks(t *testing.T) {
	for _, codec := range []cblosc.Codec{cblosc.LZ4, cblosc.Zstd} {
		p := cblosc.DefaultCParams()
		p.TypeSize, p.Codec = 4, codec
		shape := []int64{300, 280}
		path := filepath.Join(t.TempDir(), "array")
		w, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: shape, ChunkShape: []int32{128, 256}, Blocks: []int32{16, 32}, DType: "<u4",
			Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: p}})
		require.NoError(t, err)
		all := append(testutil.Noise(100*280*4, 1), testutil.Ramp(200*280*4, 2)...)
		require.NoError(t, w.WriteRegion(all, []int64{0, 0}, shape))
		require.NoError(t, w.Close())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		r := &counted{ReaderAt: bytes.NewReader(b)}
		f, err := frameio.OpenReaderAt(r, int64(len(b)), nil)
		require.NoError(t, err)
		a, err := f.Array()
		require.NoError(t, err)
		closing(t, a)
		rapid.Check(t, func(t *rapid.T) {
			start, region := drawRegion(t, shape)
			want := cut(all, shape, start, region, 4)
			got := make([]byte, len(want))
			require.NoError(t, a.ReadRegion(t.Context(), got, start, region, 2))
			require.True(t, bytes.Equal(want, got), "start %v shape %v", start, region)
		})
		r.n.Store(0)
		one := make([]byte, 4)
		require.NoError(t, a.ReadRegion(t.Context(), one, []int64{140, 33}, []int64{1, 1}, 1))
		require.Equal(t, all[(140*280+33)*4:][:4], one)
		require.Less(t, r.n.Load(), int64(3000), "a block has 2 KiB")

		// Truncate the file after the header and the block table of the first chunk.
		r.ReaderAt = bytes.NewReader(b[:f.Header().HeaderSize+1000])
		err = a.ReadRegion(t.Context(), one, []int64{100, 100}, []int64{1, 1}, 1)
		require.ErrorIs(t, err, cblosc.ErrFormat)
		require.ErrorIs(t, err, format.ErrTruncated)
	}
}
