package filter_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestPartsAgainstWhole checks that a decoded part of a chunk equals the same elements of the whole
// chunk. The frame is in memory or read piece by piece, and its blocks are one-dimensional or have
// a shape.
func TestPartsAgainstWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rank := rapid.IntRange(1, 4).Draw(r, "rank")
		item := rapid.SampledFrom([]int{1, 2, 4, 7, 8, 300}).Draw(r, "item")
		part := filter.Part{Item: item}
		n := item
		for range rank {
			s := rapid.Int64Range(1, []int64{300, 30, 12, 7}[rank-1]).Draw(r, "extent")
			from := rapid.Int64Range(0, s-1).Draw(r, "from")
			part.Shape = append(part.Shape, s)
			part.Start = append(part.Start, from)
			part.Count = append(part.Count, rapid.Int64Range(1, s-from).Draw(r, "count"))
			n *= int(s)
		}
		values := []uint32{1, rapid.SampledFrom([]uint32{0, 32, 128, 1000}).Draw(r, "block"), uint32(item), uint32(n), 5,
			rapid.Uint32Range(0, 2).Draw(r, "shuffle"), rapid.SampledFrom([]uint32{0, 1, 5}).Draw(r, "codec")}
		if rank > 1 && rapid.Bool().Draw(r, "b2nd") {
			values = append(values, uint32(rank))
			for _, s := range part.Shape {
				values = append(values, uint32(s))
			}
		}
		if len(values) == 7 {
			values[1] -= values[1] % uint32(item) // a block with incomplete elements is invalid
		}
		src := [][]byte{data(n, 1), testutil.Noise(n, 1), make([]byte, n)}[rapid.IntRange(0, 2).Draw(r, "kind")]
		p, err := filter.New([]h5.Filter{{ID: filter.IDBlosc2, Values: values}}, filter.Options{})
		require.NoError(t, err)
		require.True(t, p.Partial())
		enc, _, err := p.Encode(nil, src)
		require.NoError(t, err)

		size := int64(item)
		for _, c := range part.Count {
			size *= c
		}
		want := make([]byte, size)
		at, strides := int64(0), boxes.Strides(part.Shape, item)
		part.Strides = boxes.Strides(part.Count, item)
		for d, s := range part.Start {
			at += s * strides[d]
		}
		box := boxes.New(part.Count, part.Strides, strides, item)
		box.Copy(want, src[at:])

		got := make([]byte, size)
		require.NoError(t, p.DecodePart(got, enc, part))
		require.Equal(t, want, got)
		clear(got)
		read, err := p.DecodePartAt(got, bytes.NewReader(enc), int64(len(enc)), part)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.LessOrEqual(t, read, int64(len(enc)))

		// A corrupt or truncated frame must return an error or other values, and must not crash.
		b := bytes.Clone(enc)
		for range rapid.IntRange(1, 3).Draw(r, "changes") {
			b[rapid.IntRange(0, len(b)-1).Draw(r, "at")] ^= byte(rapid.IntRange(1, 255).Draw(r, "bits"))
		}
		b = b[:rapid.IntRange(0, len(b)).Draw(r, "length")]
		errMemory := p.DecodePart(got, b, part)
		_, errFile := p.DecodePartAt(got, bytes.NewReader(b), int64(len(b)), part)
		for _, err := range []error{errMemory, errFile} {
			if err != nil {
				require.ErrorContains(t, err, "filter 32026")
			}
		}
	})
	p, err := filter.New([]h5.Filter{{ID: filter.IDBlosc}}, filter.Options{})
	require.NoError(t, err)
	require.False(t, p.Partial())
}

// TestPart_gaps checks that a part of a chunk with one-dimensional blocks reads only blocks that
// contain elements of the box, and no blocks between them.
func TestPart_gaps(t *testing.T) {
	const block = 4096
	src := testutil.Noise(64*64*64*4, 1)
	p, err := filter.New([]h5.Filter{{ID: filter.IDBlosc2, Values: []uint32{1, block, 4, uint32(len(src)), 5, 1, 1}}}, filter.Options{})
	require.NoError(t, err)
	for _, src := range [][]byte{data(len(src), 1), src} {
		enc, _, err := p.Encode(nil, src)
		require.NoError(t, err)
		for _, tt := range []struct {
			start, count []int64
			blocks       int64 // of 256
		}{
			{[]int64{5, 1, 32}, []int64{1, 1, 1}, 1},
			{[]int64{0, 1, 32}, []int64{64, 1, 1}, 64},
			{[]int64{3, 60, 0}, []int64{2, 4, 64}, 2},
			{[]int64{3, 0, 0}, []int64{2, 64, 64}, 8},
			{[]int64{0, 0, 63}, []int64{64, 64, 1}, 256},
		} {
			strides := boxes.Strides(tt.count, 4)
			part := filter.Part{Shape: []int64{64, 64, 64}, Start: tt.start, Count: tt.count, Strides: strides, Item: 4}
			n := tt.count[0] * tt.count[1] * tt.count[2] * 4
			got, want := make([]byte, n), make([]byte, n)
			box := boxes.New(tt.count, strides, boxes.Strides(part.Shape, 4), 4)
			box.Copy(want, src[((tt.start[0]*64+tt.start[1])*64+tt.start[2])*4:])
			read, err := p.DecodePartAt(got, bytes.NewReader(enc), int64(len(enc)), part)
			require.NoError(t, err)
			require.Equal(t, want, got)
			if stored := len(enc) > len(src); !stored { // incompressible data are stored without blocks
				require.InDelta(t, tt.blocks*int64(len(enc))/256, read, float64(len(enc))/50, "%v", tt.count)
			}
			clear(got)
			require.NoError(t, p.DecodePart(got, enc, part))
			require.Equal(t, want, got)
		}
	}
}

// TestPart_BytesRead checks that decoding one element of a large chunk reads only one block.
func TestPart_BytesRead(t *testing.T) {
	src := testutil.Noise(64*64*64*4, 1)
	p, err := filter.New([]h5.Filter{{ID: filter.IDBlosc2, Values: []uint32{1, 0, 4, uint32(len(src)), 5, 1, 1, 3, 64, 64, 64}}}, filter.Options{})
	require.NoError(t, err)
	for _, kind := range [][]byte{data(len(src), 1), make([]byte, len(src))} {
		enc, _, err := p.Encode(nil, kind)
		require.NoError(t, err)
		got := make([]byte, 4)
		part := filter.Part{Shape: []int64{64, 64, 64}, Start: []int64{63, 1, 32}, Count: []int64{1, 1, 1}, Strides: []int64{4, 4, 4}, Item: 4}
		n, err := p.DecodePartAt(got, bytes.NewReader(enc), int64(len(enc)), part)
		require.NoError(t, err)
		require.Equal(t, kind[(63*64*64+64+32)*4:][:4], got)
		require.Less(t, n, int64(len(enc))/8+64)
	}
}
