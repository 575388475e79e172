package cf

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestPackingOf_limits compares the limits of integers with exact comparisons, and floats that are
// no integers of the type, which limit nothing.
func TestPackingOf_limits(t *testing.T) {
	values := []float64{math.Inf(-1), -1e30, -1 << 63, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 1 << 53, 1 << 62, 1 << 63, 1 << 64, 1e30, math.Inf(1)}
	elements := map[ndarray.Kind][]uint64{
		ndarray.Int:  {1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64, 0, 1, 2, 1 << 53, 1<<53 + 1, 1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64},
		ndarray.Uint: {0, 1, 2, 1 << 53, 1<<53 + 1, 1 << 62, 1<<62 + 1, math.MaxInt64, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64},
	}
	fits := func(kind ndarray.Kind, v float64) bool {
		if kind == ndarray.Uint {
			return v == math.Trunc(v) && v >= 0 && v < 1<<64
		}
		return v == math.Trunc(v) && v >= -1<<63 && v < 1<<63
	}
	for kind, words := range elements {
		d := ndarray.DTypeOf[int64]()
		d.Kind = kind
		for _, low := range values {
			for _, high := range values {
				attrs := ndarray.Attrs{List: []ndarray.Attr{{Name: "valid_min", Value: ndarray.Scalar(low)}, {Name: "valid_max", Value: ndarray.Scalar(high)}}}
				warnings := 0
				p := packingOf(attrs, d, func(string, string, ...any) { warnings++ })
				wrong := 0
				for _, limit := range []float64{low, high} {
					if !fits(kind, limit) {
						wrong++
					}
				}
				if fits(kind, low) && fits(kind, high) && low > high {
					wrong++
				}
				require.Equal(t, wrong, warnings)
				for _, word := range words {
					v := new(big.Float).SetInt64(int64(word))
					if kind == ndarray.Uint {
						v = new(big.Float).SetUint64(word)
					}
					missing := fits(kind, low) && v.Cmp(big.NewFloat(low)) < 0 || fits(kind, high) && v.Cmp(big.NewFloat(high)) > 0
					require.Equal(t, missing, p.isMissing(word), "%v: %v from %v to %v", kind, v, low, high)
				}
			}
		}
	}
}

// integer returns a scalar of a type with a random value, or a value near a limit of the type.
func integer(r *rand.Rand, kind ndarray.Kind, size int) (ndarray.Value, *big.Int) {
	word := r.Uint64() >> r.IntN(64)
	if r.IntN(3) == 0 {
		word = []uint64{0, 1, math.MaxUint64, 1<<(8*size-1) - 1, 1 << (8*size - 1)}[r.IntN(5)]
	}
	d := ndarray.DType{Kind: kind, Size: size, Order: ndarray.NativeOrder}
	b := make([]byte, size)
	store(d, b, word)
	p := packing{whole: d}
	if size == 1 {
		d.Order = ndarray.NoOrder
	}
	return ndarray.Value{DType: d, Data: b}, p.big(load(d, b))
}

// TestPacking_integers compares scaled integers of 1 byte with exact numbers: their values, limits,
// and the mark of missing elements.
func TestPacking_integers(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	kinds := []ndarray.Kind{ndarray.Int, ndarray.Uint}
	attr := func(name string, v ndarray.Value) ndarray.Attr { return ndarray.Attr{Name: name, Value: v} }
	checked, wide, lost := 0, 0, 0
	for range 400 {
		d := ndarray.DType{Kind: kinds[r.IntN(2)], Size: 1, Order: ndarray.NoOrder}
		scale, times := integer(r, kinds[r.IntN(2)], 1<<r.IntN(4))
		offset, plus := integer(r, kinds[r.IntN(2)], 1<<r.IntN(4))
		fill := byte(r.UintN(256))
		low, high := load(d, []byte{byte(r.UintN(256))}), load(d, []byte{byte(r.UintN(256))})
		p := packingOf(ndarray.Attrs{List: []ndarray.Attr{
			attr("scale_factor", scale), attr("add_offset", offset), attr("valid_min", ndarray.Value{DType: d, Data: []byte{byte(low)}}), attr("valid_max", ndarray.Value{DType: d, Data: []byte{byte(high)}}),
			attr("_FillValue", ndarray.Value{DType: d, Data: []byte{fill}}),
		}}, d, func(string, string, ...any) {})
		if !p.scaled || !p.integral() {
			continue
		}
		checked++
		marker := p.marker(p.whole)
		for e := range 256 {
			word := load(d, []byte{byte(e)})
			want := p.big(word)
			want.Add(want.Mul(want, times), plus)
			f := new(big.Float).SetInt(want)
			below, above := word < low, word > high
			if d.Kind == ndarray.Int {
				below, above = int64(word) < int64(low), int64(word) > int64(high)
			}
			require.Equal(t, byte(e) == fill || below || above, p.isMissing(word), "%v from %v to %v", word, low, high)
			v, ok := p.exact(word)
			require.Equal(t, want, p.exactBig(word))
			nearest, _ := f.Float64()
			require.Equal(t, nearest, p.rounded(word))
			if !ok {
				wide++
				require.Greater(t, want.BitLen(), 62)
				continue
			}
			require.Equal(t, want.String(), p.big(v).String())
			switch b := make([]byte, p.whole.Size); {
			case p.isMissing(word):
				lost++
			case store(p.whole, b, v):
				require.NotEqual(t, marker, b, "%v × %v + %v", word, times, plus)
			}
		}
	}
	require.Greater(t, checked, 100)
	require.Greater(t, wide, 1000)
	require.Greater(t, lost, 1000)
}

func TestPackingOf(t *testing.T) {
	attr := func(name string, v ndarray.Value) ndarray.Attr { return ndarray.Attr{Name: name, Value: v} }
	for name, c := range map[string]struct {
		d       ndarray.DType
		attrs   []ndarray.Attr
		missing []uint64 // words
		valid   []uint64
		words   string
		warning string
	}{
		"exact": {
			ndarray.DTypeOf[int64](), []ndarray.Attr{attr("_FillValue", ndarray.Scalar[int64](math.MaxInt64))},
			[]uint64{math.MaxInt64}, []uint64{math.MaxInt64 - 1, 0}, "_FillValue 9223372036854775807 is missing", "",
		},
		"other type": {
			ndarray.DTypeOf[int32](), []ndarray.Attr{attr("missing_value", ndarray.Scalar(-9.0))},
			[]uint64{math.MaxUint64 - 8}, []uint64{9}, "missing_value -9 is missing", "",
		},
		"no element": {
			ndarray.DTypeOf[int32](), []ndarray.Attr{attr("missing_value", ndarray.Scalar(1e20))},
			nil, []uint64{0, math.MaxInt32}, "", "missing_value: no element of type <i4 equals 1e+20",
		},
		"negative number of unsigned elements": {
			ndarray.DTypeOf[int8](), []ndarray.Attr{attr("_Unsigned", ndarray.Text("True")), attr("_FillValue", ndarray.Scalar[int8](-1)), attr("valid_max", ndarray.Scalar[int8](-2))},
			[]uint64{255}, []uint64{0, 254}, "elements read as unsigned (_Unsigned)", "",
		},
		"NaN": {
			ndarray.DTypeOf[float32](), []ndarray.Attr{attr("_FillValue", ndarray.Scalar(float32(math.NaN())))},
			[]uint64{math.Float64bits(math.NaN())}, []uint64{0}, "_FillValue NaN is missing", "",
		},
		"factor 1": {
			ndarray.DTypeOf[int64](), []ndarray.Attr{attr("scale_factor", ndarray.Scalar(1.0)), attr("add_offset", ndarray.Scalar(0.0)), attr("valid_min", ndarray.Scalar[int64](1))},
			[]uint64{0, math.MaxUint64}, []uint64{1}, "element × 1 (scale_factor) + 0 (add_offset)", "",
		},
		"factor of type string": {
			ndarray.DTypeOf[int16](), []ndarray.Attr{attr("scale_factor", ndarray.Text("0.1")), attr("add_offset", ndarray.Scalar(2.0))},
			nil, []uint64{0}, "", "scale_factor: got a string, want a number",
		},
		"two offsets": {
			ndarray.DTypeOf[int16](), []ndarray.Attr{attr("add_offset", ndarray.Vector(2.0, 3))},
			nil, []uint64{0}, "", "add_offset: got 2 elements of type <f8, want a number",
		},
		"range of three": {
			ndarray.DTypeOf[int16](), []ndarray.Attr{attr("valid_range", ndarray.Vector[int16](1, 2, 3))},
			nil, []uint64{0, 5}, "", "valid_range: got 3 numbers, want 2",
		},
		"limit between integers": {
			ndarray.DTypeOf[int16](), []ndarray.Attr{attr("valid_min", ndarray.Scalar(2.5))},
			nil, []uint64{0, 5}, "", "valid_min: no element of type <i2 equals 2.5",
		},
		"fill value of type string": {
			ndarray.DTypeOf[float32](), []ndarray.Attr{attr("_FillValue", ndarray.Text("none"))},
			nil, []uint64{0}, "", "_FillValue: got a string, want a number",
		},
		"range and limit": {
			ndarray.DTypeOf[int16](), []ndarray.Attr{attr("valid_range", ndarray.Vector[int16](1, 3)), attr("valid_max", ndarray.Scalar[int16](2))},
			[]uint64{0, 4}, []uint64{3}, "outside 1 to 3 is missing (valid range)", "valid_max: valid_range has priority",
		},
		"minimum above maximum": {
			ndarray.DTypeOf[int8](), []ndarray.Attr{attr("valid_min", ndarray.Scalar[int8](3)), attr("valid_max", ndarray.Scalar[int8](-2))},
			[]uint64{0, 3, 4}, nil, "outside 3 to -2 is missing (valid range)", "valid_min: 3 exceeds the maximum -2: all elements are missing",
		},
		"range of floats": {
			ndarray.DTypeOf[float32](), []ndarray.Attr{attr("valid_range", ndarray.Vector[float32](2, 1))},
			[]uint64{0, math.Float64bits(1.5)}, []uint64{math.Float64bits(math.NaN())}, "outside 2 to 1 is missing (valid range)", "valid_range: 2 exceeds the maximum 1: all elements are missing",
		},
		"neither true nor false": {
			ndarray.DTypeOf[int8](), []ndarray.Attr{attr("_Unsigned", ndarray.Text("yes"))},
			nil, []uint64{0}, "", "_Unsigned: got \"yes\", want true or false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			warning := ""
			p := packingOf(ndarray.Attrs{List: c.attrs}, c.d, func(attribute, format string, args ...any) { warning = attribute + ": " + fmt.Sprintf(format, args...) })
			require.False(t, p.scaled)
			require.Equal(t, c.warning, warning)
			require.Equal(t, c.words, strings.Join(p.words[:min(len(p.words), 1)], ""))
			for _, w := range c.missing {
				require.True(t, p.isMissing(w), w)
			}
			for _, w := range c.valid {
				require.False(t, p.isMissing(w), w)
			}
		})
	}
}
