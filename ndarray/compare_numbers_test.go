package ndarray_test

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestCompare_numericTypes compares numbers of different types. The types must be reported as
// different, and the values must be compared exactly.
func TestCompare_numericTypes(t *testing.T) {
	shape := []int64{2}
	nan := math.NaN()
	exact := (*ndarray.Tolerance)(nil)
	for _, c := range []struct {
		name string
		a, b *ndarray.Array
		o    *ndarray.Tolerance
		want []string // A and B of the elements that differ, in order
	}{
		{"int32 and int64", fromSlice(t, shape, nil, []int32{-1, 7}), fromSlice(t, shape, nil, []int64{-1, 7}), exact, nil},
		{"int64 beyond int32", fromSlice(t, shape, nil, []int32{-1, 7}), fromSlice(t, shape, nil, []int64{1<<32 - 1, 7}), exact, []string{"-1", "4294967295"}},
		{"int64 and uint64 of equal bits", fromSlice(t, shape, nil, []int64{-1, math.MaxInt64}), fromSlice(t, shape, nil, []uint64{math.MaxUint64, math.MaxInt64}), exact, []string{"-1", "18446744073709551615"}},
		{"int64 and float64", fromSlice(t, shape, nil, []int64{math.MinInt64, 1<<53 + 1}), fromSlice(t, shape, nil, []float64{math.MinInt64, 1 << 53}), exact, []string{"9007199254740993", "9.007199254740992e+15"}},
		{"uint64 and float64", fromSlice(t, shape, nil, []float64{1 << 64, 1 << 63}), fromSlice(t, shape, nil, []uint64{math.MaxUint64, 1 << 63}), exact, []string{"1.8446744073709552e+19", "18446744073709551615"}},
		{"fraction", fromSlice(t, shape, nil, []int8{1, 2}), fromSlice(t, shape, nil, []float32{1, 2.5}), exact, []string{"2", "2.5"}},
		{"float32 and float64", fromSlice(t, shape, nil, []float32{0.5, 0.1}), fromSlice(t, shape, nil, []float64{0.5, 0.1}), exact, []string{"0.1", "0.1"}},
		{"tolerance", fromSlice(t, shape, nil, []float32{0.5, 0.1}), fromSlice(t, shape, nil, []float64{0.5, 0.1}), &ndarray.Tolerance{Rtol: 1e-6}, nil},
		{"no tolerance for integers", fromSlice(t, shape, nil, []int32{1, 2}), fromSlice(t, shape, nil, []int64{1, 3}), &ndarray.Tolerance{Atol: 5}, []string{"2", "3"}},
		{"NaN", fromSlice(t, shape, nil, []float32{float32(nan), 1}), fromSlice(t, shape, nil, []float64{nan, 1}), exact, nil},
		{"NaN with a tolerance", fromSlice(t, shape, nil, []float32{float32(nan), 1}), fromSlice(t, shape, nil, []float64{nan, 1}), &ndarray.Tolerance{Rtol: 1}, []string{"NaN", "NaN(0x7ff8000000000001)"}},
		{"EqualNaN", fromSlice(t, shape, nil, []float32{float32(nan), 1}), fromSlice(t, shape, nil, []float64{nan, 1}), &ndarray.Tolerance{EqualNaN: true}, nil},
		{"infinity", fromSlice(t, shape, nil, []float32{float32(math.Inf(1)), float32(math.Inf(-1))}), fromSlice(t, shape, nil, []float64{math.Inf(1), math.MaxFloat64}), &ndarray.Tolerance{Rtol: 1, Atol: 1}, []string{"-Inf", "1.7976931348623157e+308"}},
		{"bool and uint8", fromSlice(t, shape, nil, []bool{true, true}), fromSlice(t, shape, nil, []uint8{1, 2}), exact, []string{"true", "2"}},
		{"complex64 and complex128", fromSlice(t, shape, nil, []complex64{1 + 2i, 3i}), fromSlice(t, shape, nil, []complex128{1 + 2i, 3}), exact, []string{"(0+3i)", "(3+0i)"}},
		// A complex number with a NaN in its imaginary part is not equal to a real NaN.
		{"complex and real", fromSlice(t, shape, nil, []complex128{2, cmplx.NaN()}), fromSlice(t, shape, nil, []float64{2, nan}), exact, []string{"(NaN(0x7ff8000000000001)+NaN(0x7ff8000000000001)i)", "NaN(0x7ff8000000000001)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls int
			got := compare(t, c.a, c.b, &ndarray.CompareOptions{Tolerance: c.o, MaxDiffs: 2, Progress: func(p ndarray.Progress) {
				calls++
				require.Equal(t, c.a.NBytes(), p.TotalBytes)
			}})
			require.Positive(t, calls)
			require.True(t, got.ValuesCompared)
			require.Equal(t, int64(2), got.NumElems)
			require.False(t, got.SameDType || got.Equal())
			var list []string
			for _, d := range got.Diffs {
				list = append(list, d.A, d.B)
			}
			require.Equal(t, c.want, list)
			require.Equal(t, int64(len(list)/2), got.NumDiffs)
		})
	}
}
