package caterva_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
)

// TestResize compares random resizes of Caterva arrays with b2nd_resize.
func TestResize(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(rt, "rank")
		draw := func(name string, low, high int) (list []int64) {
			for range rank {
				list = append(list, int64(rapid.IntRange(low, high).Draw(rt, name)))
			}
			return list
		}
		shape := draw("shape", 0, 6)
		var chunks, blocks []int32
		for range rank {
			c := rapid.Int32Range(1, 4).Draw(rt, "chunk")
			chunks, blocks = append(chunks, c), append(blocks, rapid.Int32Range(1, c).Draw(rt, "block"))
		}
		cp := cblosc.DefaultCParams()
		cp.TypeSize = 4
		p := cblosc.ArrayParams{Shape: shape, ChunkShape: chunks, Blocks: blocks}
		p.Storage = cblosc.Storage{Path: filepath.Join(t.TempDir(), "x"), Contiguous: rapid.Bool().Draw(rt, "contiguous"), CParams: cp}
		a, err := caterva.Create(&p)
		require.NoError(rt, err)
		p.DType = "<i4"
		path := p.Storage.Path
		p.Storage.Path = ""
		b, err := cblosc.CreateArray(&p)
		require.NoError(rt, err)
		fill := func(seed byte) {
			n := 4
			for _, k := range shape {
				n *= int(k)
			}
			data := make([]byte, n)
			for i := range data {
				data[i] = seed + byte(i)
			}
			start := make([]int64, rank)
			require.NoError(rt, errors.Join(a.WriteRegion(data, start, shape), b.WriteRegion(data, start, shape)))
		}
		for step := range 3 {
			fill(byte(50 * step))
			require.NoError(rt, a.Close())
			shape = draw("new shape", 0, 6)
			require.NoError(rt, caterva.Resize(path, shape, cblosc.Allow{}))
			require.NoError(rt, b.Resize(shape))
			a, err = cblosc.OpenArray(path)
			require.NoError(rt, err)
			require.Equal(rt, shape, a.Shape())
			require.Equal(rt, b.SChunk().NumChunks(), a.SChunk().NumChunks())
			for i := range a.SChunk().NumChunks() {
				want, got := make([]byte, b.SChunk().ChunkSize()), make([]byte, b.SChunk().ChunkSize())
				_, err1 := b.SChunk().DecompressChunk(want, i)
				_, err2 := a.SChunk().DecompressChunk(got, i)
				require.NoError(rt, errors.Join(err1, err2))
				require.Equal(rt, want, got, "chunk %d of %v", i, shape)
			}
		}
		require.NoError(rt, errors.Join(a.Close(), b.Close()))
	})
}

func TestResize_refused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	a, err := caterva.Create(&cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{2},
		Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: cblosc.DefaultCParams()}})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	for _, bad := range [][]int64{{}, {1, 2}, {-1}} {
		require.ErrorIs(t, caterva.Resize(path, bad, cblosc.Allow{}), cblosc.ErrParam)
	}
	require.ErrorIs(t, caterva.Resize(path, []int64{1 << 62}, cblosc.Allow{}), cblosc.ErrLimit)
}
