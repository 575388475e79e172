package picture

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestLogarithms(t *testing.T) {
	values := []float64{1, 1000, 0, -5, 0.01, math.NaN()}
	Logarithms(values)
	require.Equal(t, "[0 3 NaN NaN -2 NaN]", sprint(values))
}

func sprint(values []float64) string {
	out := "["
	for i, v := range values {
		if i > 0 {
			out += " "
		}
		out += Number(math.Round(v*1e9) / 1e9)
	}
	return out + "]"
}

func TestPicture_Bound(t *testing.T) {
	shape := []int64{1, 101}
	values := make([]float64, 101)
	for i := range values {
		values[i] = float64(i)
	}
	values[100] = 1e9
	for _, x := range []struct {
		name      string
		from, to  float64
		low, high float64
		clipped   bool
	}{
		{"all", 0, 100, 0, 1e9, false},
		{"percentiles", 2, 98, 2, 98, true},
		{"fraction", 0.5, 50.25, 0.5, 50.25, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := &Picture{Kind: Heatmap, Grid: NewGrid(shape, 1, 101)}
			p.Grid.Add(ndarray.Whole(shape), values)
			p.Grid.Finish()
			p.Bound(x.from, x.to)
			require.InDelta(t, x.low, p.Low, 1e-9)
			require.InDelta(t, x.high, p.High, 1e-9)
			require.Equal(t, x.clipped, p.Clipped)
		})
	}
	t.Run("chosen range", func(t *testing.T) {
		p := &Picture{Kind: Heatmap, Low: 3, High: 4, Clipped: true}
		p.Bound(0, 100)
		require.Equal(t, 3.0, p.Low)
	})
	t.Run("no values", func(t *testing.T) {
		p := &Picture{Kind: Line, Lines: []Series{{Envelope: NewEnvelope(2, 2)}}}
		p.Bound(0, 100)
		require.True(t, math.IsNaN(p.Low))
	})
}

func TestPowerTicks(t *testing.T) {
	labels := func(low, high float64) (out []string) {
		for _, x := range (powerTicks{}).Ticks(low, high) {
			require.GreaterOrEqual(t, x.Value, low)
			require.LessOrEqual(t, x.Value, high)
			out = append(out, x.Label)
		}
		return out
	}
	require.Equal(t, []string{"0.1", "1", "10", "100"}, labels(-1, 2.3))
	require.Equal(t, []string{"1e-300", "1e-225", "1e-150", "1e-75", "1", "1e75", "1e150", "1e225", "1e300"}, labels(-300, 300))
	require.Contains(t, labels(0.1, 0.9), "5")
	require.Empty(t, labels(1, 1))
}
