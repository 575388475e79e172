package frameio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// drawGrid returns random shapes of an array of at most about 20,000 elements.
func drawGrid(t *rapid.T) (shape []int64, chunks, blocks []int32) {
	for range rapid.IntRange(0, 4).Draw(t, "rank") {
		most := []int64{5000, 5000, 140, 27, 11}[len(shape)]
		n := rapid.Int64Range(1, max(1, most/max(1, int64(product(shape))/4))).Draw(t, "length")
		c := rapid.Int64Range(max(1, (n+2)/3), n+2).Draw(t, "chunk")
		shape, chunks = append(shape, n), append(chunks, int32(c))
		blocks = append(blocks, int32(rapid.Int64Range(max(1, c/6), c).Draw(t, "block")))
	}
	return shape, chunks, blocks
}

// files returns the content of each file of a frame.
func files(t tester, path string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		all[filepath.ToSlash(p[len(path):])] = b
		return err
	}))
	return all
}

// zerosArray creates an array of zeros with C-Blosc2.
func zerosArray(t tester, path string, p cblosc.ArrayParams) {
	t.Helper()
	p.Storage.Path = path
	a, err := cblosc.CreateArray(&p)
	require.NoError(t, err)
	require.NoError(t, a.Close())
}

// TestArrayWriterBytes checks that a whole array written by several workers has the same bytes as
// one that C-Blosc2 writes.
func TestArrayWriterBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, chunks, blocks := drawGrid(t)
		item := itemSizes.Draw(t, "item")
		cp := drawCParams(t, item)
		p := cblosc.ArrayParams{Shape: shape, ChunkShape: chunks, Blocks: blocks, Storage: cblosc.Storage{Contiguous: rapid.Bool().Draw(t, "contiguous"), CParams: cp}}
		data := testutil.Ramp(product(shape)*item, rapid.Uint64().Draw(t, "seed"))
		if rapid.Bool().Draw(t, "with zeros") { // some chunks will be special
			clear(data[:len(data)/3])
		}
		dir := temp(t)
		want, got := filepath.Join(dir, "library.b2nd"), filepath.Join(dir, "ours.b2nd")
		zerosArray(t, want, p)
		a, err := cblosc.OpenArray(want)
		require.NoError(t, err)
		require.NoError(t, a.WriteRegion(data, make([]int64, len(shape)), shape))
		require.NoError(t, a.Close())
		zerosArray(t, got, p)
		w, err := frameio.WriteArray(got, nil)
		require.NoError(t, err)
		require.NoError(t, w.WriteRegion(context.Background(), data, make([]int64, len(shape)), shape, rapid.IntRange(0, 3).Draw(t, "workers")))
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
		require.Equal(t, files(t, want), files(t, got))
	})
}

// TestArrayWriter_order checks that the output does not depend on the order of writes. Regions of
// whole chunks are written in random order by several goroutines, and some chunks are skipped. The
// file must be the same as one that C-Blosc2 writes in grid order.
func TestArrayWriter_order(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		item := itemSizes.Draw(t, "item")
		p := cblosc.ArrayParams{Shape: []int64{7 * 10, 33}, ChunkShape: []int32{10, 12}, Blocks: []int32{5, 12},
			Storage: cblosc.Storage{Contiguous: rapid.Bool().Draw(t, "contiguous"), CParams: drawCParams(t, item)}}
		own, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		defer func() { require.NoError(t, os.RemoveAll(own)) }()
		want, got := filepath.Join(own, "library.b2nd"), filepath.Join(own, "ours.b2nd")
		zerosArray(t, want, p)
		zerosArray(t, got, p)
		a, err := cblosc.OpenArray(want)
		require.NoError(t, err)
		w, err := frameio.WriteArray(got, nil)
		require.NoError(t, err)
		defer func() { _ = w.Close() }() // so that the directory can be removed after a failure
		require.NoError(t, w.InOrder(rapid.SampledFrom([]int{0, 500, 1 << 20}).Draw(t, "window"), own))
		require.ErrorIs(t, w.InOrder(1, own), cblosc.ErrParam)
		var order []int
		write := make([]func() error, 21)
		for i := range write {
			order = append(order, i)
			start := []int64{int64(i/3) * 10, int64(i%3) * 12}
			shape := []int64{10, min(12, 33-start[1])}
			src := testutil.Ramp(product(shape)*item, rapid.Uint64().Draw(t, "seed"))
			if rapid.Float64Range(0, 1).Draw(t, "skip") < 0.2 {
				write[i] = func() error { return w.Skip(int64(i)) }
				continue
			}
			require.NoError(t, a.WriteRegion(src, start, shape))
			write[i] = func() error { return w.WriteRegion(context.Background(), src, start, shape, 1) }
		}
		require.NoError(t, a.Close())
		order = rapid.Permutation(order).Draw(t, "order")
		errs := make([]error, len(order))
		var both sync.WaitGroup
		for half := range 2 {
			both.Go(func() {
				for k := half; k < len(order); k += 2 {
					errs[order[k]] = write[order[k]]()
				}
			})
		}
		both.Wait()
		require.NoError(t, errors.Join(errs...))
		if rapid.Bool().Draw(t, "ended") {
			require.NoError(t, w.Ordered(true))
			require.NoError(t, w.Ordered(true), "again")
		}
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
		require.Equal(t, files(t, want), files(t, got))
	})
}

func TestArrayWriter_unchanged(t *testing.T) {
	for _, contiguous := range []bool{true, false} {
		t.Run(fmt.Sprintf("contiguous=%v", contiguous), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.b2nd")
			cp := cblosc.DefaultCParams()
			cp.TypeSize = 4
			zerosArray(t, path, cblosc.ArrayParams{Shape: []int64{70, 33}, ChunkShape: []int32{10, 12}, Blocks: []int32{5, 12},
				Storage: cblosc.Storage{Contiguous: contiguous, CParams: cp}})
			before := files(t, path)
			for _, durable := range []bool{false, true} {
				w, err := frameio.WriteArray(path, &frameio.ArrayOptions{Durable: durable})
				require.NoError(t, err)
				require.NoError(t, w.Commit())
				require.NoError(t, w.Close())
				require.Equal(t, before, files(t, path))
			}
		})
	}
}

// TestArrayWriterRegions checks that C-Blosc2 reads chunks that were written in any order, more
// than once, and by concurrent calls. Chunks that were not written must not change.
func TestArrayWriterRegions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, chunks, blocks := drawGrid(t)
		item := itemSizes.Draw(t, "item")
		sparse, durable := rapid.Bool().Draw(t, "sparse"), rapid.Bool().Draw(t, "durable")
		p := cblosc.ArrayParams{Shape: shape, ChunkShape: chunks, Blocks: blocks, Storage: cblosc.Storage{Contiguous: !sparse, CParams: drawCParams(t, item)}}
		for _, f := range p.Storage.CParams.Filters {
			if f.ID == cblosc.TruncPrec {
				t.Skip("not what was written")
			}
		}
		model := make([]byte, product(shape)*item)
		path := filepath.Join(temp(t), "a")
		zerosArray(t, path, p)
		rank := len(shape)
		for range rapid.IntRange(1, 3).Draw(t, "sessions") {
			w, err := frameio.WriteArray(path, &frameio.ArrayOptions{Durable: durable})
			require.NoError(t, err)
			for range rapid.IntRange(0, 5).Draw(t, "writes") {
				start, count := make([]int64, rank), make([]int64, rank)
				for d := range shape {
					n := (shape[d] + int64(chunks[d]) - 1) / int64(chunks[d])
					from := rapid.Int64Range(0, n-1).Draw(t, "from")
					to := rapid.Int64Range(from, n-1).Draw(t, "to") + 1
					start[d] = from * int64(chunks[d])
					count[d] = min(to*int64(chunks[d]), shape[d]) - start[d]
				}
				src := testutil.Ramp(product(count)*item, rapid.Uint64().Draw(t, "seed"))
				require.NoError(t, w.WriteRegion(context.Background(), src, start, count, 2))
				put(model, shape, src, start, count, item)
			}
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())
			require.ErrorIs(t, w.Close(), cblosc.ErrClosed)
		}
		got := make([]byte, len(model))
		a, err := cblosc.OpenArray(path)
		if err != nil && opensNot(sparse, chunks, item) {
			a, err := frameio.OpenArray(path)
			require.NoError(t, err)
			require.NoError(t, a.ReadRegion(context.Background(), got, make([]int64, rank), shape, 1))
			require.NoError(t, a.Close())
			require.True(t, bytes.Equal(model, got))
			return
		}
		require.NoError(t, err)
		require.NoError(t, a.ReadAll(got))
		require.NoError(t, a.Close())
		require.True(t, bytes.Equal(model, got))
	})
}

// opensNot reports whether C-Blosc2 may fail to open such an array. C-Blosc2 3.3.5 rejects a sparse
// frame if the file number of a chunk is greater than the size of the chunks in bytes. The bundled
// version is affected too.
func opensNot(sparse bool, chunks []int32, item int) bool {
	for _, n := range chunks {
		item *= int(n)
	}
	return sparse && item < 32 && strings.HasPrefix(cblosc.Version(), "3.")
}

// put copies a region to a row-major array.
func put(array []byte, shape []int64, src []byte, start, count []int64, item int) {
	n := product(count)
	for k := range n {
		at, rest, step := 0, k, 1
		for d := len(shape) - 1; d >= 0; d-- {
			at += (int(start[d]) + rest%int(count[d])) * step
			rest /= int(count[d])
			step *= int(shape[d])
		}
		copy(array[at*item:(at+1)*item], src[k*item:])
	}
}

// TestArrayWriterRows checks that an array can grow along its first dimension, and that C-Blosc2
// can then read it and append to it.
func TestArrayWriterRows(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprintf("sparse=%v/durable=%v", sparse, durable), func(t *testing.T) {
				cp := cblosc.DefaultCParams()
				cp.TypeSize = 4
				path := filepath.Join(t.TempDir(), "a.b2nd")
				data := testutil.Ramp(4*60*7, 3)
				first := 4 * 20 * 7
				p := cblosc.ArrayParams{Shape: []int64{20, 7}, ChunkShape: []int32{10, 5}, Blocks: []int32{5, 5}, Storage: cblosc.Storage{Path: path, Contiguous: !sparse, CParams: cp}}
				a, err := cblosc.CreateArrayFrom(&p, data[:first])
				require.NoError(t, err)
				require.NoError(t, a.Close())

				w, err := frameio.WriteArray(path, &frameio.ArrayOptions{Rows: 55, Durable: durable})
				require.NoError(t, err)
				require.Equal(t, []int64{55, 7}, w.Shape())
				require.NoError(t, w.WriteRegion(t.Context(), data[first:4*55*7], []int64{20, 0}, []int64{35, 7}, 0))
				require.NoError(t, w.Commit())
				require.NoError(t, w.Close())

				_, err = frameio.WriteArray(path, &frameio.ArrayOptions{Rows: 54})
				require.ErrorIs(t, err, cblosc.ErrRegion)
				// Start in a partial chunk. Elements of it that are not written must keep their
				// values.
				w, err = frameio.WriteArray(path, &frameio.ArrayOptions{Rows: 58, Durable: durable})
				require.NoError(t, err)
				require.NoError(t, w.Commit())
				require.NoError(t, w.Close())
				x, err := frameio.OpenArray(path)
				require.NoError(t, err)
				longer := make([]byte, 4*58*7)
				require.NoError(t, x.ReadRegion(t.Context(), longer, []int64{0, 0}, []int64{58, 7}, 1))
				require.NoError(t, x.Close())
				require.Equal(t, append(data[:4*55*7:4*55*7], make([]byte, 4*3*7)...), longer)
				w, err = frameio.WriteArray(path, &frameio.ArrayOptions{Rows: 59, Durable: durable})
				require.NoError(t, err)
				require.NoError(t, w.WriteRegion(t.Context(), data[4*50*7:4*59*7], []int64{50, 0}, []int64{9, 7}, 2))
				require.NoError(t, w.Commit())
				require.NoError(t, w.Close())

				a, err = cblosc.OpenArray(path)
				require.NoError(t, err)
				require.Equal(t, []int64{59, 7}, a.Shape())
				got := make([]byte, 4*59*7)
				require.NoError(t, a.ReadAll(got))
				require.Equal(t, data[:len(got)], got)
				require.NoError(t, a.Insert(0, 59, data[4*59*7:]))
				got = make([]byte, 4*60*7)
				require.NoError(t, a.ReadAll(got))
				require.Equal(t, data, got)
				require.NoError(t, a.Close())
				f, err := frameio.OpenArray(path)
				require.NoError(t, err)
				require.NoError(t, f.ReadRegion(t.Context(), got, []int64{0, 0}, []int64{60, 7}, 0))
				require.Equal(t, data, got)
				require.NoError(t, f.Close())
			})
		}
	}
}

// TestArrayWriterChunks checks that chunks can be copied between arrays without recompression, and
// that the other chunks do not change.
func TestArrayWriterChunks(t *testing.T) {
	from, _ := newArray(t, true, []int64{30, 30}, []int32{10, 10}, []int32{5, 10})
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 4
	path := filepath.Join(t.TempDir(), "to.b2nd")
	zerosArray(t, path, cblosc.ArrayParams{Shape: []int64{30, 30}, ChunkShape: []int32{10, 10}, Blocks: []int32{5, 10}, Storage: cblosc.Storage{Contiguous: true, CParams: cp}})
	w, err := frameio.WriteArray(path, nil)
	require.NoError(t, err)
	for _, i := range []int64{8, 3, 4, 0} {
		b, err := from.Frame().Chunk(nil, i)
		require.NoError(t, err)
		require.NoError(t, w.WriteChunk(i, b))
		require.ErrorIs(t, w.WriteChunk(9, b), cblosc.ErrRegion)
		require.ErrorIs(t, w.WriteChunk(1, b[:len(b)-1]), cblosc.ErrFormat)
	}
	short, err := cblosc.SpecialChunk(cp, cblosc.Zeros, 396, nil)
	require.NoError(t, err)
	require.ErrorIs(t, w.WriteChunk(1, short), cblosc.ErrSize)
	one := *cp
	one.BlockSize = 400
	require.ErrorIs(t, w.WriteChunk(1, chunkOf(t, &one, testutil.Ramp(400, 1))), cblosc.ErrSize, "blocks of another size")
	var left []int64
	require.NoError(t, w.Unwritten(func(i int64) error { left = append(left, i); return nil }))
	require.Equal(t, []int64{1, 2, 5, 6, 7}, left)
	require.NoError(t, w.Commit())
	require.ErrorIs(t, w.WriteChunk(0, short), cblosc.ErrClosed)
	require.ErrorIs(t, w.Commit(), cblosc.ErrClosed)
	require.NoError(t, w.Close())
	to, err := frameio.OpenArray(path)
	require.NoError(t, err)
	closing(t, to)
	for i := range int64(9) {
		got, want := make([]byte, 400), make([]byte, 400)
		_, err := to.Frame().Decompress(got, i)
		require.NoError(t, err)
		if i == 8 || i == 3 || i == 4 || i == 0 {
			_, err = from.Frame().Decompress(want, i)
			require.NoError(t, err)
		}
		require.Equal(t, want, got, i)
	}
}

func TestArrayWriterRefuses(t *testing.T) {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 4
	path := filepath.Join(t.TempDir(), "a.b2nd")
	p := cblosc.ArrayParams{Shape: []int64{20, 7}, ChunkShape: []int32{10, 5}, Blocks: []int32{5, 5}, Storage: cblosc.Storage{Contiguous: true, CParams: cp}}
	zerosArray(t, path, p)
	before := files(t, path)
	w, err := frameio.WriteArray(path, nil)
	require.NoError(t, err)
	b := make([]byte, 4*20*7)
	for _, c := range []struct {
		start, shape []int64
		n            int
		want         error
	}{
		{[]int64{0, 0}, []int64{20, 7}, len(b) - 1, cblosc.ErrSize},
		{[]int64{0, 0}, []int64{21, 7}, len(b), cblosc.ErrRegion},
		{[]int64{0}, []int64{20}, len(b), cblosc.ErrRegion},
		{[]int64{1, 0}, []int64{9, 7}, 4 * 9 * 7, cblosc.ErrRegion},
		{[]int64{0, 0}, []int64{10, 6}, 4 * 10 * 6, cblosc.ErrRegion},
	} {
		require.ErrorIs(t, w.WriteRegion(t.Context(), b[:c.n], c.start, c.shape, 0), c.want, "%v %v", c.start, c.shape)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.WriteRegion(gone, b, []int64{0, 0}, []int64{20, 7}, 0), context.Canceled)
	require.NoError(t, w.WriteRegion(t.Context(), testutil.Ramp(len(b), 1), []int64{0, 0}, []int64{20, 7}, 0))
	require.NoError(t, w.Close(), "without Commit")
	require.Equal(t, before, files(t, path))

	_, err = frameio.WriteArray(filepath.Join(t.TempDir(), "none"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	f, _ := newFrame(t, 3, 400)
	_, err = frameio.WriteArray(f.Path(), nil)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	ndlz := *cp
	ndlz.TypeSize, ndlz.Codec, ndlz.CodecMeta = 1, cblosc.NDLZ, 4
	p.Storage.CParams = &ndlz
	other := filepath.Join(t.TempDir(), "ndlz.b2nd")
	zerosArray(t, other, p)
	_, err = frameio.WriteArray(other, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
