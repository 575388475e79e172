package cblosc_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

func TestFilterNames(t *testing.T) {
	for want, f := range map[string]cblosc.Filter{
		"trunc_prec(10)":  {ID: cblosc.TruncPrec, Meta: 10},
		"trunc_prec(-10)": {ID: cblosc.TruncPrec, Meta: 0xF6},
		"int_trunc(-3)":   {ID: cblosc.IntTrunc, Meta: 0xFD},
		"bytedelta(8)":    {ID: cblosc.ByteDelta, Meta: 8},
		"ndcell(4)":       {ID: cblosc.NDCell, Meta: 4},
		"ndmean(127)":     {ID: cblosc.NDMean, Meta: 127},
		"bitshuffle":      {ID: cblosc.BitShuffle},
	} {
		require.Equal(t, want, f.String())
	}
	require.Equal(t, "filter 37", cblosc.FilterID(37).String())
}

func TestFilterLimits(t *testing.T) {
	for _, tt := range []struct {
		size int
		f    cblosc.Filter
		ok   bool
	}{
		{4, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 1}, true}, {4, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 32}, true}, {4, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 33}, false},
		{4, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 0}, false}, {4, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 0xE1}, true}, {4, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 0xE0}, false},
		{1, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 8}, true}, {8, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 64}, true}, {8, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 65}, false}, {3, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 1}, false},
		{4, cblosc.Filter{ID: cblosc.ByteDelta, Meta: 4}, true}, {4, cblosc.Filter{ID: cblosc.ByteDelta, Meta: 0}, false}, {4, cblosc.Filter{ID: cblosc.ByteDelta, Meta: 8}, false}, {256, cblosc.Filter{ID: cblosc.ByteDelta, Meta: 0}, false},
		{4, cblosc.Filter{ID: cblosc.NDCell, Meta: 1}, true}, {4, cblosc.Filter{ID: cblosc.NDCell, Meta: 0}, false}, {4, cblosc.Filter{ID: cblosc.NDCell, Meta: 128}, false}, {4, cblosc.Filter{ID: cblosc.NDCell, Meta: 0xFF}, false},
		{4, cblosc.Filter{ID: cblosc.NDMean, Meta: 4}, true}, {2, cblosc.Filter{ID: cblosc.NDMean, Meta: 4}, false},
		{4, cblosc.Filter{ID: cblosc.Shuffle, Meta: 2}, true}, {4, cblosc.Filter{ID: cblosc.Delta, Meta: 1}, false},
	} {
		p := cparams(tt.size)
		p.Filters = [cblosc.MaxFilters]cblosc.Filter{tt.f}
		if tt.ok {
			require.NoError(t, p.Validate(), "%v, type size %d", tt.f, tt.size)
		} else {
			require.ErrorIs(t, p.Validate(), cblosc.ErrParam, "%v, type size %d", tt.f, tt.size)
		}
	}
	p := cparams(4)
	p.Filters[5] = cblosc.Filter{ID: cblosc.ByteDelta, Meta: 4}
	p.BlockSize = 3
	require.ErrorIs(t, p.Validate(), cblosc.ErrParam)
}

// TestLossyFilters checks the values that the lossy filters return.
func TestLossyFilters(t *testing.T) {
	le := binary.LittleEndian
	for _, tt := range []struct {
		size int
		f    cblosc.Filter
		want func(v uint64) uint64
	}{
		{1, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 3}, func(v uint64) uint64 { return v & 0xE0 }},
		{2, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 0xFB}, func(v uint64) uint64 { return v &^ 31 }},
		{4, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 20}, func(v uint64) uint64 { return v &^ 0xFFF }},
		{8, cblosc.Filter{ID: cblosc.IntTrunc, Meta: 60}, func(v uint64) uint64 { return v &^ 15 }},
		{4, cblosc.Filter{ID: cblosc.TruncPrec, Meta: 10}, func(v uint64) uint64 { return v &^ (1<<13 - 1) }},
		{8, cblosc.Filter{ID: cblosc.TruncPrec, Meta: 0xF6}, func(v uint64) uint64 { return v &^ (1<<10 - 1) }},
	} {
		src := testutil.Ramp(8*1000, 1)
		p := cparams(tt.size)
		p.Filters[4] = tt.f
		dst := make([]byte, len(src))
		_, err := newDecompressor(t).Decompress(dst, compress(t, p, src))
		require.NoError(t, err)
		get := func(b []byte, i int) uint64 {
			var v [8]byte
			copy(v[:], b[i*tt.size:(i+1)*tt.size])
			return le.Uint64(v[:])
		}
		for i := range len(src) / tt.size {
			require.Equal(t, tt.want(get(src, i)), get(dst, i), "%v of %d bytes", tt.f, tt.size)
		}
	}
}

// TestByteDelta checks that ByteDelta is lossless and compresses smooth data better than Shuffle
// alone.
func TestByteDelta(t *testing.T) {
	var src []byte
	for i := range 10_000 {
		src = binary.LittleEndian.AppendUint32(src, math.Float32bits(float32(math.Sin(float64(i)/1000))))
	}
	p := cparams(4)
	p.Codec = cblosc.Zstd
	without := compress(t, p, src)
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{4: {ID: cblosc.Shuffle}, 5: {ID: cblosc.ByteDelta, Meta: 4}}
	with := compress(t, p, src)
	require.Less(t, len(with), len(without))
	dst := make([]byte, len(src))
	_, err := newDecompressor(t).Decompress(dst, with)
	require.NoError(t, err)
	require.Equal(t, src, dst)
}
