package h5value_test

import (
	"fmt"
	"math"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// positives returns the finite values of a short float with exp and mant bits from 0 up. The index
// of a value is its code.
func positives(exp, mant, bias int) []float64 {
	var out []float64
	for code := range (1<<exp - 1) << mant {
		e, m := code>>mant, code&(1<<mant-1)
		if e == 0 {
			out = append(out, math.Ldexp(float64(m), 1-bias-mant))
		} else {
			out = append(out, math.Ldexp(float64(m+1<<mant), e-bias-mant))
		}
	}
	return out
}

// nearest returns the value that x rounds to, with ties to the even code.
func nearest(all []float64, x float64) float64 {
	a := math.Abs(x)
	i := sort.SearchFloat64s(all, a)
	switch {
	case i == len(all): // past the last value: infinity from half a step on
		last := all[i-1]
		if a >= last+(last-all[i-2])/2 {
			return math.Copysign(math.Inf(1), x)
		}
		i--
	case all[i] != a && (a-all[i-1] < all[i]-a || a-all[i-1] == all[i]-a && i%2 == 1):
		i--
	}
	return math.Copysign(all[i], x)
}

// awkward returns random numbers close to the boundaries of a float type: ties, the smallest normal
// number and the smallest subnormal number.
func awkward(least int) *rapid.Generator[float64] {
	return rapid.Custom(func(t *rapid.T) float64 {
		mant := rapid.SampledFrom([]uint64{0, 1, 2, 3, 1<<52 - 1, 1<<52 - 2, 1 << 51, 1<<51 - 1, 1<<51 + 1}).Draw(t, "mantissa")
		if rapid.Bool().Draw(t, "ones") { // ones down to a random bit, which a carry crosses
			mant = (1<<52 - 1) &^ (1<<rapid.IntRange(0, 52).Draw(t, "zeros") - 1)
		}
		exp := rapid.IntRange(least-3, 12).Draw(t, "exponent")
		x := math.Float64frombits(uint64(exp+1023)<<52 | mant)
		if rapid.Bool().Draw(t, "negative") {
			x = -x
		}
		return x
	})
}

// TestLossy_rounding checks that lossy conversions round floats of every type to the nearest value
// with ties to even, also below the smallest normal number. libhdf5's own conversion rounds some of
// these values incorrectly.
func TestLossy_rounding(t *testing.T) {
	layout := func(exp, mant int, order h5.Order) h5.Datatype {
		return h5.Datatype{Class: h5.Float, Size: 2, Precision: 1 + exp + mant, Order: order,
			Layout: h5.FloatLayout{SignPos: exp + mant, ExpPos: mant, ExpSize: exp, MantSize: mant, ExpBias: 1<<(exp-1) - 1}}
	}
	single := func(x float64) float64 { return float64(float32(x)) }
	short := func(exp, mant int) func(float64) float64 {
		all := positives(exp, mant, 1<<(exp-1)-1)
		return func(x float64) float64 { return nearest(all, x) }
	}
	f := newFile(t)
	for i, tt := range []struct {
		dt    h5.Datatype
		least int
		want  func(float64) float64
	}{
		{h5.IEEEFloat(4, h5.LittleEndian), -149, single},
		{h5.IEEEFloat(4, h5.BigEndian), -149, single},
		{h5.IEEEFloat(2, h5.LittleEndian), -24, short(5, 10)},
		{h5.IEEEFloat(2, h5.BigEndian), -24, short(5, 10)},
		{layout(8, 7, h5.BigEndian), -133, short(8, 7)},
		{layout(6, 5, h5.LittleEndian), -35, short(6, 5)},
	} {
		const n = 8
		d, err := f.Root().CreateDataset(fmt.Sprint(i), tt.dt, h5.SimpleSpace(n), nil)
		require.NoError(t, err)
		rapid.Check(t, func(rt *rapid.T) {
			values := rapid.SliceOfN(awkward(tt.least), n, n).Draw(rt, "values")
			want := make([]float64, n)
			for k, x := range values {
				want[k] = tt.want(x)
			}
			require.NoError(rt, h5value.WriteLossy(d, values, h5.All))
			got, err := h5value.ReadAll[float64](d)
			require.NoError(rt, err)
			require.Equal(rt, want, got, "%v", tt.dt)
		})
	}
}

// TestRounding_Lossy checks the rounding of reads, of integers, and of selections.
func TestRounding_Lossy(t *testing.T) {
	f := newFile(t)
	carry := []float64{math.Ldexp(1, -126) - math.Ldexp(1, -160), 1 + math.Ldexp(1, -24), 1 + 3*math.Ldexp(1, -24), -math.Ldexp(1, -150)}
	want := make([]float32, len(carry))
	for i, x := range carry {
		want[i] = float32(x)
	}
	wide := stored(t, f, "wide", h5.IEEEFloat(8, h5.BigEndian), carry)
	got := make([]float32, 4)
	require.NoError(t, h5value.ReadLossy(wide, got, h5.All))
	require.Equal(t, want, got)
	narrow := stored(t, f, "narrow", h5.IEEEFloat(4, h5.BigEndian), make([]float32, 4))

	ints := []int64{1<<53 + 1, 1<<24 + 1, 1<<24 + 3, -1<<62 - 1}
	require.NoError(t, h5value.WriteLossy(narrow, ints, h5.All))
	got, err := h5value.ReadAll[float32](narrow)
	require.NoError(t, err)
	require.Equal(t, []float32{1 << 53, 1 << 24, 1<<24 + 4, -1 << 62}, got)
	require.NoError(t, h5value.WriteLossy(narrow, carry[1:3], h5.Points{{3}, {0}}))
	got, err = h5value.ReadAll[float32](narrow)
	require.NoError(t, err)
	require.Equal(t, []float32{want[2], 1 << 24, 1<<24 + 4, want[1]}, got)

	// Without this package's conversion, libhdf5 rounds incorrectly.
	require.NoError(t, narrow.WriteRegionLossy(natives(t, carry...), h5.IEEEFloat(8, h5.NativeOrder), region([]int64{0}, []int64{4})))
	got, err = h5value.ReadAll[float32](narrow)
	require.NoError(t, err)
	require.Equal(t, want[0]/2, got[0], "the carry is lost")
	require.Equal(t, float32(1+math.Ldexp(1, -23)), got[1], "the larger of a tie")
}
