package picture

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestGrid_Add and TestEnvelope_Add check that one value for a region has the same result as all
// its elements.
func TestGrid_Add(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(1, 40), 2, 2).Draw(t, "shape")
		rows, columns := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "columns")
		all, one := NewGrid(shape, rows, columns), NewGrid(shape, rows, columns)
		for range 3 {
			r, v := drawEqual(t, shape)
			all.Add(r, slices.Repeat([]float64{v}, int(r.NumElems())))
			one.Add(r, []float64{v})
		}
		all.Finish()
		one.Finish()
		for i, want := range all.Cells {
			if math.IsNaN(want) {
				require.True(t, math.IsNaN(one.Cells[i]))
				continue
			}
			require.InDelta(t, want, one.Cells[i], 1e-9)
		}
	})
}

func TestEnvelope_Add(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := []int64{rapid.Int64Range(1, 100).Draw(t, "length")}
		n := rapid.IntRange(1, 20).Draw(t, "stretches")
		all, one := NewEnvelope(shape[0], n), NewEnvelope(shape[0], n)
		for range 3 {
			r, v := drawEqual(t, shape)
			all.Add(r, slices.Repeat([]float64{v}, int(r.NumElems())))
			one.Add(r, []float64{v})
		}
		require.Equal(t, all.StretchStarts, one.StretchStarts)
		for i := range all.Low { // as bits, because NaN is unequal to itself
			require.Equal(t, math.Float64bits(all.Low[i]), math.Float64bits(one.Low[i]))
			require.Equal(t, math.Float64bits(all.High[i]), math.Float64bits(one.High[i]))
		}
	})
}

// drawEqual draws a region of an array and the value of its elements.
func drawEqual(t *rapid.T, shape []int64) (ndarray.Region, float64) {
	r := ndarray.Region{Start: make([]int64, len(shape)), Shape: make([]int64, len(shape))}
	for i, n := range shape {
		r.Start[i] = rapid.Int64Range(0, n-1).Draw(t, "start")
		r.Shape[i] = rapid.Int64Range(1, n-r.Start[i]).Draw(t, "count")
	}
	return r, rapid.SampledFrom([]float64{0, 1.5, -7, math.Inf(1), math.NaN()}).Draw(t, "value")
}
