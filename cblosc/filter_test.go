package cblosc_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

func TestFilterNames(t *testing.T) {
	for id := range 256 {
		f := cblosc.FilterID(id)
		got, err := cblosc.ParseFilterID(f.String())
		if err == nil {
			require.Equal(t, f, got)
		}
		for meta := range 256 {
			f := cblosc.Filter{ID: cblosc.FilterID(id), Meta: uint8(meta)}
			if got, perr := cblosc.ParseFilter(f.String()); err == nil {
				require.NoError(t, perr)
				require.Equal(t, f, got)
			}
		}
	}
	for want, f := range map[string]cblosc.Filter{
		"trunc_prec(10)":  cblosc.NewTruncPrec(10),
		"trunc_prec(-10)": cblosc.NewTruncPrec(-10),
		"int_trunc(-3)":   cblosc.NewIntTrunc(-3),
		"bytedelta(8)":    cblosc.NewByteDelta(8),
		"ndcell(4)":       cblosc.NewNDCell(4),
		"ndmean(127)":     cblosc.NewNDMean(127),
		"bitshuffle":      {ID: cblosc.BitShuffle},
	} {
		require.Equal(t, want, f.String())
	}
	for _, s := range []string{"", "x", "shuffle(", "shuffle()", "shuffle(0)", "ndcell(-1)", "ndcell(256)", "trunc_prec(200)", "ndcell(+4)", "ndcell(4", "shuffle(1)x"} {
		_, err := cblosc.ParseFilter(s)
		require.ErrorIs(t, err, cblosc.ErrParam, "%q", s)
	}
}

func TestFilterLimits(t *testing.T) {
	for _, tt := range []struct {
		size int
		f    cblosc.Filter
		ok   bool
	}{
		{4, cblosc.NewIntTrunc(1), true}, {4, cblosc.NewIntTrunc(32), true}, {4, cblosc.NewIntTrunc(33), false},
		{4, cblosc.NewIntTrunc(0), false}, {4, cblosc.NewIntTrunc(-31), true}, {4, cblosc.NewIntTrunc(-32), false},
		{1, cblosc.NewIntTrunc(8), true}, {8, cblosc.NewIntTrunc(64), true}, {8, cblosc.NewIntTrunc(1000), false}, {3, cblosc.NewIntTrunc(1), false},
		{4, cblosc.NewByteDelta(4), true}, {4, cblosc.NewByteDelta(0), false}, {4, cblosc.NewByteDelta(8), false}, {256, cblosc.NewByteDelta(256), false},
		{4, cblosc.NewNDCell(1), true}, {4, cblosc.NewNDCell(0), false}, {4, cblosc.NewNDCell(128), false}, {4, cblosc.NewNDCell(-1), false},
		{4, cblosc.NewNDMean(4), true}, {2, cblosc.NewNDMean(4), false},
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
	p.Filters[5] = cblosc.NewByteDelta(4)
	p.BlockSize = 3
	require.ErrorIs(t, p.Validate(), cblosc.ErrParam)
}

// What the filters that change data leave of it.
func TestLossyFilters(t *testing.T) {
	le := binary.LittleEndian
	for _, tt := range []struct {
		size int
		f    cblosc.Filter
		want func(v uint64) uint64
	}{
		{1, cblosc.NewIntTrunc(3), func(v uint64) uint64 { return v & 0xE0 }},
		{2, cblosc.NewIntTrunc(-5), func(v uint64) uint64 { return v &^ 31 }},
		{4, cblosc.NewIntTrunc(20), func(v uint64) uint64 { return v &^ 0xFFF }},
		{8, cblosc.NewIntTrunc(60), func(v uint64) uint64 { return v &^ 15 }},
		{4, cblosc.NewTruncPrec(10), func(v uint64) uint64 { return v &^ (1<<13 - 1) }},
		{8, cblosc.NewTruncPrec(-10), func(v uint64) uint64 { return v &^ (1<<10 - 1) }},
	} {
		src := ramp(8*1000, 1)
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

// ByteDelta is lossless, and makes smooth data smaller than Shuffle alone.
func TestByteDelta(t *testing.T) {
	var src []byte
	for i := range 10_000 {
		src = binary.LittleEndian.AppendUint32(src, math.Float32bits(float32(math.Sin(float64(i)/1000))))
	}
	p := cparams(4)
	p.Codec = cblosc.Zstd
	without := compress(t, p, src)
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{4: {ID: cblosc.Shuffle}, 5: cblosc.NewByteDelta(4)}
	with := compress(t, p, src)
	require.Less(t, len(with), len(without))
	dst := make([]byte, len(src))
	_, err := newDecompressor(t).Decompress(dst, with)
	require.NoError(t, err)
	require.Equal(t, src, dst)
}
