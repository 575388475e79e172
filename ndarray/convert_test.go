package ndarray_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

// exactValue returns the value of an element of at most 8 bytes, or nil if it is not a finite
// number.
func exactValue(d ndarray.DType, b []byte) *big.Float {
	f, _, err := big.ParseFloat(ndarray.FormatElement(d, b), 10, 80, big.ToNearestEven)
	if err != nil || f.IsInf() {
		return nil
	}
	return f
}

// TestConvert_bigNumbers checks that a conversion either preserves the number or returns an error.
func TestConvert_bigNumbers(t *testing.T) {
	types := []string{"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
	limits := map[string][2]float64{
		"i1": {-128, 127}, "i2": {-32768, 32767}, "i4": {math.MinInt32, math.MaxInt32},
		"u1": {0, 255}, "u2": {0, 65535}, "u4": {0, math.MaxUint32},
	}
	rapid.Check(t, func(t *rapid.T) {
		from := dtype(t, rapid.SampledFrom(types[:8]).Draw(t, "from"))
		name := rapid.SampledFrom(types).Draw(t, "to")
		to := dtype(t, name)
		src := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 0xff, 0x80})), from.Size, from.Size).Draw(t, "element")
		dst := make([]byte, to.Size)
		x := exactValue(from, src)
		require.NotNil(t, x)
		err := ndarray.Convert(dst, to, src, from, false)
		if err == nil {
			// The shortest digits are not the exact value; TestConvert_RoundTrip checks floats.
			if to.Kind == ndarray.Float {
				return
			}
			require.Zero(t, x.Cmp(exactValue(to, dst)), "%v of %s as %v", from, ndarray.FormatElement(from, src), to)
			return
		}
		require.ErrorIs(t, err, ndarray.ErrValue)
		if l, ok := limits[name]; ok {
			require.True(t, x.Cmp(big.NewFloat(l[0])) < 0 || x.Cmp(big.NewFloat(l[1])) > 0, "%v is a %v", x, to)
		}
	})
}

// TestConvert_RoundTrip checks that a conversion without rounding can be reversed.
func TestConvert_RoundTrip(t *testing.T) {
	types := []string{"i1", "i4", "i8", "u2", "u8", "f4", "f8"}
	rapid.Check(t, func(t *rapid.T) {
		from, to := dtype(t, rapid.SampledFrom(types).Draw(t, "from")), dtype(t, rapid.SampledFrom(types).Draw(t, "to"))
		src := rapid.SliceOfN(rapid.Byte(), from.Size, from.Size).Draw(t, "element")
		dst, back := make([]byte, to.Size), make([]byte, from.Size)
		if ndarray.Convert(dst, to, src, from, false) != nil {
			return
		}
		require.NoError(t, ndarray.Convert(back, from, dst, to, false))
		want, got := ndarray.FormatElement(from, src), ndarray.FormatElement(from, back)
		if want[0] != 'N' && want != "-0" {
			require.Equal(t, want, got, "%v by %v", from, to)
		}
	})
}

func TestConvertCases(t *testing.T) {
	for _, c := range []struct {
		from  string
		src   []byte
		to    string
		round bool
		want  string
	}{
		{"f8", element(300.0), "u1", false, ""}, {"f8", element(-1.0), "u1", false, ""}, {"f8", element(1.5), "i4", true, ""},
		{"f8", element(math.NaN()), "i4", true, ""}, {"f8", element(math.NaN()), "f4", false, "NaN"}, {"f8", element(0.1), "f4", false, ""},
		{"f8", element(0.1), "f4", true, "0.1"}, {"f8", element(1e300), "f4", true, ""}, {"f8", element(math.Inf(1)), "f4", false, "+Inf"},
		{"i8", element(int64(1<<53 + 1)), "f8", false, ""}, {"i8", element(int64(1<<53 + 1)), "f8", true, "9.007199254740992e+15"},
		{"i8", element(int64(math.MinInt64)), "f8", false, "-9.223372036854776e+18"},
		{"u8", element(uint64(math.MaxUint64)), "f8", false, ""}, {"f8", element(0x1p64), "u8", false, ""}, {"f8", element(0x1p63), "u8", false, "9223372036854775808"},
		{"f8", element(0x1p63), "i8", false, ""}, {"f8", element(-0x1p63), "i8", false, "-9223372036854775808"},
		{"?", []byte{9}, "i2", false, "1"}, {"i2", element(int16(2)), "?", false, ""}, {"f2", element(uint16(0x3c00)), "u1", false, "1"},
		{"enum('i1', {'A': -3})", []byte{0xfd}, "f4", false, "-3"},
	} {
		to := dtype(t, c.to)
		dst := make([]byte, to.Size)
		err := ndarray.Convert(dst, to, c.src, dtype(t, c.from), c.round)
		if c.want == "" {
			require.ErrorIs(t, err, ndarray.ErrValue, "%v", c)
			require.ErrorContains(t, err, "element 0")
			continue
		}
		require.NoError(t, err, "%v", c)
		require.Equal(t, c.want, ndarray.FormatElement(to, dst), "%v", c)
	}
	i4 := dtype(t, "i4")
	require.ErrorIs(t, ndarray.Convert(make([]byte, 4), i4, make([]byte, 8), i4, false), ndarray.ErrSize)
	require.ErrorIs(t, ndarray.Convert(make([]byte, 5), i4, make([]byte, 4), i4, false), ndarray.ErrSize)
	for _, d := range []string{"S4", "c8", "V4", "M8", "f2", "f16", "bfloat16"} {
		x := dtype(t, d)
		require.ErrorIs(t, ndarray.Convert(make([]byte, x.Size), x, make([]byte, 4), i4, false), ndarray.ErrType, d)
	}
}

// TestConvert_roundsOnce checks that an integer is rounded directly to float32, and not to float64
// first.
func TestConvert_roundsOnce(t *testing.T) {
	const exact = 1<<60 + 1<<36 + 1 // just above the middle of two float32
	src, dst := make([]byte, 8), make([]byte, 4)
	binary.NativeEndian.PutUint64(src, exact)
	require.NoError(t, ndarray.Convert(dst, dtype(t, "f4"), src, dtype(t, "i8"), true))
	require.Equal(t, float32(1<<60+1<<37), math.Float32frombits(binary.NativeEndian.Uint32(dst)))
	require.ErrorIs(t, ndarray.Convert(dst, dtype(t, "f4"), src, dtype(t, "i8"), false), ndarray.ErrValue)
}
