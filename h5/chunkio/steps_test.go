package chunkio_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// along returns the indices of a region in one dimension.
func along(r h5.Region, axis int) (at []int64) {
	for i := range r.Count[axis] {
		for j := range r.Block[axis] {
			at = append(at, r.Start[axis]+i*r.Stride[axis]+j)
		}
	}
	return at
}

// TestSteps checks that strided regions, of elements or of blocks, decode only the chunks they
// touch. A read must return every selected element, and a write must not change the elements
// between.
func TestSteps(t *testing.T) {
	f := create(t, filepath.Join(t.TempDir(), "x.h5"))
	defer f.Close()
	i4, ctx := h5.Int(4, h5.NativeOrder), context.Background()
	n, several := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		rank := rapid.IntRange(1, 3).Draw(r, "rank")
		shape, chunks, reg := []int64(nil), []int64(nil), h5.Region{}
		for range rank {
			extent := rapid.Int64Range(1, []int64{300, 40, 15}[rank-1]).Draw(r, "extent")
			shape, chunks = append(shape, extent), append(chunks, rapid.Int64Range(1, min(extent, 20)).Draw(r, "chunk"))
			start := rapid.Int64Range(0, extent-1).Draw(r, "start")
			block := rapid.Int64Range(1, extent-start).Draw(r, "block")
			if rapid.Bool().Draw(r, "single") {
				block = 1
			}
			stride := rapid.Int64Range(block, max(block, extent-start)).Draw(r, "stride")
			count := rapid.Int64Range(1, (extent-start-block)/stride+1).Draw(r, "count")
			reg.Start, reg.Count = append(reg.Start, start), append(reg.Count, count)
			reg.Stride, reg.Block = append(reg.Stride, stride), append(reg.Block, block)
		}
		d, err := f.Root().CreateDataset(fmt.Sprint(n), i4, h5.SimpleSpace(shape...), &h5.DatasetOptions{ChunkShape: chunks, Filters: []h5.Filter{h5.Deflate(1)}})
		require.NoError(r, err)
		defer d.Close()
		values := func(n int64, first byte) []byte {
			b := make([]byte, 4*n)
			for i := range n {
				b[4*i], b[4*i+1], b[4*i+2] = byte(i), byte(i>>8), first
			}
			return b
		}
		want := values(all(shape...).NumElems(), 1)
		_, err = chunkio.Write(ctx, d, want, i4, all(shape...), nil)
		require.NoError(r, err)

		touched, axes := int64(1), make([][]int64, rank)
		for i := range axes {
			axes[i] = along(reg, i)
			in := make([]int64, len(axes[i]))
			for k, at := range axes[i] {
				in[k] = at / chunks[i]
			}
			touched *= int64(len(slices.Compact(in)))
		}
		if touched > 1 {
			several++
		}
		src := values(reg.NumElems(), 2)
		s, err := chunkio.Write(ctx, d, src, i4, reg, nil)
		require.NoError(r, err)
		require.Empty(r, s.Fallback)
		require.Equal(r, touched, s.Chunks)
		got := make([]byte, len(src))
		s, err = chunkio.Read(ctx, d, got, i4, reg, nil)
		require.NoError(r, err)
		require.Empty(r, s.Fallback)
		require.Equal(r, touched, s.Chunks)
		require.Equal(r, src, got)

		for k := range reg.NumElems() { // element k of the region, and its index in the dataset
			to, left, size := int64(0), k, int64(1)
			for i := rank - 1; i >= 0; i-- {
				n := int64(len(axes[i]))
				to += axes[i][left%n] * size
				left /= n
				size *= shape[i]
			}
			copy(want[4*to:][:4], src[4*k:])
		}
		got = make([]byte, len(want))
		require.NoError(r, d.ReadRegion(got, i4, all(shape...)))
		require.Equal(r, want, got)
	})
	testenv.Occurred(t, several, n)
}

// TestRead_filterSteps checks that reading some elements of one plane of a Blosc2 chunk reads only
// the blocks of that plane.
func TestRead_filterSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	f4, ctx := h5.IEEEFloat(4, h5.BigEndian), context.Background()
	shape := []int64{60, 64, 128}
	d, err := f.Root().CreateDataset("d", f4, h5.SimpleSpace(shape...), &h5.DatasetOptions{
		ChunkShape: []int64{30, 64, 128}, Filters: []h5.Filter{{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, 5}}},
	})
	require.NoError(t, err)
	_, err = chunkio.Write(ctx, d, bytesLike(4*60*64*128, 1), f4, all(shape...), nil)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	f, d = open(t, path, h5.ReadOnly, "d")
	defer f.Close()
	for _, mem := range []h5.Datatype{f4, h5.IEEEFloat(4, h5.LittleEndian)} {
		r := h5.Region{Start: []int64{7, 1, 0}, Count: []int64{1, 16, 64}, Stride: []int64{1, 4, 2}, Block: []int64{1, 2, 1}}
		want := make([]byte, r.NumElems()*int64(mem.Size))
		require.NoError(t, d.ReadRegion(want, mem, r))
		got := make([]byte, len(want))
		s, err := chunkio.Read(ctx, d, got, mem, r, nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, []int64{1, 1, 1}, []int64{s.Chunks, s.Partial, s.Direct})
	}
}
