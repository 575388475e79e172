package cblosc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// deltaParams returns parameters with Delta and Shuffle.
func deltaParams(itemSize int) *cblosc.CParams {
	p := cblosc.DefaultCParams()
	p.TypeSize = itemSize
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{0: {ID: cblosc.Delta}, 5: {ID: cblosc.Shuffle}}
	return p
}

// TestParts_Delta compares random reads and writes of regions in arrays compressed with Delta
// with a model, in a new array and in one that was opened again. It also compares reads of items of
// a chunk.
func TestParts_Delta(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		shape, zero := make([]int64, rank), make([]int64, rank)
		chunks, blocks := make([]int32, rank), make([]int32, rank)
		for i := range shape {
			shape[i] = rapid.Int64Range(1, 30).Draw(t, "length")
			chunks[i] = int32(rapid.Int64Range(1, shape[i]).Draw(t, "chunk"))
			blocks[i] = int32(rapid.Int64Range(1, int64(chunks[i])).Draw(t, "block"))
		}
		size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "item size")
		place, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		defer func() { require.NoError(t, os.RemoveAll(place)) }()
		path := filepath.Join(place, "a.b2nd")
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: shape, ChunkShape: chunks, Blocks: blocks,
			Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: deltaParams(size)}})
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		model := newPlain(shape, size)
		// Delta has no effect on chunks of noise, which are stored as they are.
		values := testutil.Ramp
		if rapid.Bool().Draw(t, "noise") {
			values = testutil.Noise
		}
		model.write(values(len(model.data), rapid.Uint64Range(0, 99).Draw(t, "seed")), zero, shape)
		require.NoError(t, a.WriteRegion(model.data, zero, shape))

		for _, opened := range []bool{false, true} {
			if opened {
				require.NoError(t, a.Close())
				a, err = cblosc.OpenArray(path)
				require.NoError(t, err)
			}
			for range 4 {
				start, length := make([]int64, rank), make([]int64, rank)
				for i := range start {
					start[i] = rapid.Int64Range(0, shape[i]-1).Draw(t, "start")
					length[i] = rapid.Int64Range(1, shape[i]-start[i]).Draw(t, "length")
				}
				want := model.read(start, length)
				got := make([]byte, len(want))
				require.NoError(t, a.ReadRegion(got, start, length))
				require.Equal(t, want, got, "start %v length %v", start, length)

				src := values(len(want), rapid.Uint64Range(0, 99).Draw(t, "seed"))
				model.write(src, start, length)
				require.NoError(t, a.WriteRegion(src, start, length))
				whole := make([]byte, len(model.data))
				require.NoError(t, a.ReadRegion(whole, zero, shape))
				require.Equal(t, model.data, whole)
			}
		}

		p := deltaParams(size)
		p.BlockSize = 64
		c, err := cblosc.NewCompressor(p)
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		d, err := cblosc.NewDecompressor(nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		chunk := make([]byte, cblosc.MaxCompressedSize(len(model.data)))
		n, err := c.Compress(chunk, model.data)
		require.NoError(t, err)
		total := len(model.data) / size
		first := rapid.IntRange(0, total-1).Draw(t, "first item")
		items := rapid.IntRange(0, total-first).Draw(t, "items")
		got := make([]byte, items*size)
		_, err = d.Items(got, chunk[:n], first, items)
		require.NoError(t, err)
		require.Equal(t, model.data[first*size:(first+items)*size], got)
	})
}

// TestWhole_singleChunk checks that a region of exactly one chunk is stored block by block, as
// every reader expects, and is read in the same order.
func TestWhole_singleChunk(t *testing.T) {
	for _, g := range []struct {
		shape         []int64
		chunks, block []int32
	}{
		// C-Blosc2 stores this chunk in the wrong order.
		{[]int64{4, 6, 5}, []int32{4, 6, 5}, []int32{2, 3, 5}},
		// C-Blosc2 stores this chunk in the wrong order.
		{[]int64{3, 4, 1}, []int32{3, 4, 1}, []int32{3, 1, 1}},
		{[]int64{8, 6, 10}, []int32{4, 3, 5}, []int32{2, 1, 5}},
		{[]int64{1, 4, 6, 2}, []int32{1, 4, 6, 2}, []int32{1, 2, 2, 2}},
		{[]int64{4, 6}, []int32{4, 6}, []int32{2, 3}},
		{[]int64{4, 6, 5}, []int32{4, 6, 5}, []int32{1, 3, 5}}, // in order
		{[]int64{4, 6, 5}, []int32{4, 6, 5}, []int32{2, 6, 5}},
		{[]int64{12}, []int32{6}, []int32{3}},
	} {
		t.Run(fmt.Sprint(g.chunks, g.block), func(t *testing.T) {
			p := cblosc.DefaultCParams()
			p.TypeSize = 2
			a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: g.shape, ChunkShape: g.chunks, Blocks: g.block, Storage: cblosc.Storage{CParams: p}})
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			model := newPlain(g.shape, 2)
			copy(model.data, testutil.Noise(len(model.data), 1))
			start, length := make([]int64, len(g.shape)), make([]int64, len(g.shape))
			for i, c := range g.chunks {
				length[i] = int64(c)
			}
			first := model.read(start, length)
			require.NoError(t, a.WriteRegion(first, start, length))

			// The bytes of the chunk must be its blocks in order.
			stored := make([]byte, a.SChunk().ChunkSize())
			_, err = a.SChunk().DecompressChunk(stored, 0)
			require.NoError(t, err)
			one := newPlain(length, 2)
			one.data = first
			var want []byte
			in, block := make([]int64, len(length)), make([]int64, len(length))
			for i, b := range g.block {
				in[i], block[i] = length[i]/int64(b), int64(b)
			}
			blocks := newPlain(in, 1)
			blocks.each(make([]int64, len(in)), in, func(at, _ int) {
				corner := make([]int64, len(in))
				for i := len(in) - 1; i >= 0; i-- {
					corner[i] = int64(at) % in[i] * block[i]
					at /= int(in[i])
				}
				want = append(want, one.read(corner, block)...)
			})
			require.Equal(t, want, stored)

			got := make([]byte, len(first))
			require.NoError(t, a.ReadRegion(got, start, length))
			require.Equal(t, first, got)
			length[0] = 1
			got = make([]byte, len(one.read(start, length)))
			require.NoError(t, a.ReadRegion(got, start, length))
			require.Equal(t, one.read(start, length), got, "a part")
		})
	}
}

// TestWhole_appendAndSlice checks appends and slices in cases that C-Blosc2 handles correctly: a
// single chunk that is copied as stored, and arrays whose blocks are contiguous.
func TestWhole_appendAndSlice(t *testing.T) {
	a, data := matrix(t, cblosc.ArrayParams{Shape: []int64{20}, ChunkShape: []int32{10}, Blocks: []int32{10}, DType: "<i4"})
	closing(t, a)
	more := testutil.Noise(40, 1)
	require.NoError(t, a.Append(0, more))
	data = append(data, more...)
	require.Equal(t, []int64{30}, a.Shape())
	requireData(t, data, a)
	s, err := a.Slice([]int64{5}, []int64{23}, cblosc.Layout{})
	require.NoError(t, err)
	closing(t, s)
	require.Equal(t, []int64{23}, s.Shape())
	requireData(t, data[20:112], s)
}
