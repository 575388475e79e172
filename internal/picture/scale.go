// Logarithmic scales and percentiles.

package picture

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// Logarithms replaces values by their decimal logarithms, and values that are not positive by NaN.
// A Picture of logarithms has Log set.
func Logarithms(values []float64) {
	for i, v := range values {
		if v > 0 {
			values[i] = math.Log10(v)
		} else {
			values[i] = math.NaN()
		}
	}
}

// Bound sets the range of values of a heat map or a line, unless the caller chose it: from the
// least to the greatest, or between two percentiles of the cells or of the ends of the stretches.
// low and high are from 0 to 100.
func (p *Picture) Bound(low, high float64) {
	if !p.Clipped {
		p.Low, p.High = Bounds(p.Percentiles(low, high))
		p.Clipped = low > 0 || high < 100
	}
	p.spread()
}

// spread gives the range of values to the panels.
func (p *Picture) spread() {
	for _, x := range p.Panels {
		x.Low, x.High, x.Clipped = p.Low, p.High, p.Clipped
	}
}

// hasMissing reports whether a cell of a heat map has no value.
func (p *Picture) hasMissing() bool {
	return p.Grid != nil && slices.ContainsFunc(p.Grid.Cells, math.IsNaN) ||
		slices.ContainsFunc(p.Panels, func(x *Picture) bool { return x.hasMissing() })
}

// Percentiles returns two percentiles of the cells or of the ends of the stretches, or NaN without
// values.
func (p *Picture) Percentiles(low, high float64) (from, to float64) {
	values := slices.DeleteFunc(p.values(nil), math.IsNaN)
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(values)
	return percentile(values, low), percentile(values, high)
}

// values appends all cells, or the ends of all stretches.
func (p *Picture) values(to []float64) []float64 {
	if p.Grid != nil {
		to = append(to, p.Grid.Cells...)
	}
	for _, s := range p.Lines {
		to = append(append(to, s.Low...), s.High...)
	}
	for _, x := range p.Panels {
		to = x.values(to)
	}
	return to
}

// percentile returns a percentile of sorted values, interpolated between the nearest ones.
func percentile(sorted []float64, p float64) float64 {
	at := p / 100 * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	k := min(i+1, len(sorted)-1)
	return sorted[i] + (sorted[k]-sorted[i])*(at-float64(i))
}

// ends returns the text of the two ends of the range of values.
func (p *Picture) ends() (low, high string) {
	if p.Log {
		return Numbers(math.Pow(10, p.Low), math.Pow(10, p.High))
	}
	return Numbers(p.Low, p.High)
}

// powerTicks are ticks of logarithms, at powers of ten, or at multiples of them if the range has
// less than three powers.
type powerTicks struct{}

// Ticks implements plot.Ticker.
func (powerTicks) Ticks(low, high float64) (out []plot.Tick) {
	if !(low < high) || math.IsInf(high-low, 0) {
		return nil
	}
	first, last := math.Ceil(low), math.Floor(high)
	if last-first < 2 {
		values := evenTicks{}.Ticks(math.Pow(10, low), math.Pow(10, high))
		for _, t := range values {
			if t.Value > 0 {
				out = append(out, plot.Tick{Value: min(max(math.Log10(t.Value), low), high), Label: t.Label})
			}
		}
		return out
	}
	step := max(math.Ceil((last-first)/8), 1)
	for x := first; x <= last; x += step {
		label := "1e" + strconv.Itoa(int(x))
		if math.Abs(x) < 5 {
			label = Number(math.Pow(10, x))
		}
		out = append(out, plot.Tick{Value: x, Label: label})
	}
	return out
}
