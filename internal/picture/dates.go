// Dates on axes and in titles. Ticks are at elements, so that they are right in each calendar.

package picture

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// Parts of a date, from the coarsest.
const (
	toYear = iota
	toMonth
	toDay
	toMinute
	toSecond
	toFraction
)

// precision returns the finest part of a date that is not at its beginning.
func precision(d cf.Date) int {
	s := d.Nanos / 1e9
	switch {
	case d.Nanos%1e9 != 0:
		return toFraction
	case s%60 != 0:
		return toSecond
	case s != 0:
		return toMinute
	case d.Day != 1:
		return toDay
	case d.Month != 1:
		return toMonth
	}
	return toYear
}

// dateText formats a date with the day, and with the time of day unless it is midnight.
func dateText(d cf.Date) string {
	if d == (cf.Date{}) {
		return "missing"
	}
	return dateTo(d, max(precision(d), toDay))
}

// dateTo formats a date up to a part.
func dateTo(d cf.Date, part int) string {
	width := 4
	if d.Year < 0 {
		width = 5
	}
	s := d.Nanos / 1e9
	out := fmt.Sprintf("%0*d", width, d.Year)
	if part >= toMonth {
		out += fmt.Sprintf("-%02d", d.Month)
	}
	if part >= toDay {
		out += fmt.Sprintf("-%02d", d.Day)
	}
	if part >= toMinute {
		out += fmt.Sprintf(" %02d:%02d", s/3600, s/60%60)
	}
	if part >= toSecond {
		out += fmt.Sprintf(":%02d", s%60)
	}
	if part >= toFraction {
		out += "." + strings.TrimRight(fmt.Sprintf("%09d", d.Nanos%1e9), "0")
	}
	return out
}

// periods are the distances of ticks, from the longest: functions that are constant in a period.
var periods = func() (out []func(d cf.Date) int64) {
	for _, n := range []int64{1000, 500, 200, 100, 50, 20, 10, 5, 2, 1} {
		out = append(out, func(d cf.Date) int64 { return floorDiv(d.Year, n) })
	}
	for _, n := range []int64{6, 3, 1} {
		out = append(out, func(d cf.Date) int64 { return d.Year*12 + int64(d.Month-1)/n*n })
	}
	for _, n := range []int64{10, 5, 2, 1} {
		most := 30/n - 1 // the last days of a month belong to the period before
		if n <= 2 {
			most = 31
		}
		out = append(out, func(d cf.Date) int64 { return (d.Year*12+int64(d.Month))*32 + min(int64(d.Day-1)/n, most) })
	}
	for _, seconds := range []int64{12 * 3600, 6 * 3600, 3 * 3600, 3600, 1800, 900, 600, 300, 60, 30, 15, 10, 5, 1} {
		out = append(out, func(d cf.Date) int64 {
			return ((d.Year*12+int64(d.Month))*32+int64(d.Day))*86400 + d.Nanos/1e9/seconds*seconds
		})
	}
	return append(out, nil) // each element
}()

func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -grid.DivUp(-a, b)
	}
	return a / b
}

// dateTicks are ticks at the first elements of periods.
type dateTicks struct {
	axis  *Axis
	n     int64
	space vg.Length
	takes func(label string) vg.Length
}

// Ticks implements plot.Ticker.
func (t dateTicks) Ticks(low, high float64) []plot.Tick {
	var chosen []int
	for _, period := range periods {
		at := t.starts(period)
		if len(at) < 2 && period != nil {
			continue
		}
		if len(chosen) >= 2 && !t.fits(at) {
			break
		}
		chosen = at
	}
	for len(chosen) > 2 && !t.fits(chosen) { // of the longest period with two ticks, or of each element
		half := chosen[:0:0]
		for i := 0; i < len(chosen); i += 2 {
			half = append(half, chosen[i])
		}
		chosen = half
	}
	var out []plot.Tick
	for i, label := range t.labels(chosen) {
		if v := t.at(chosen[i]); v >= low && v <= high {
			out = append(out, plot.Tick{Value: v, Label: label})
		}
	}
	return out
}

// at returns the coordinate of date i.
func (t dateTicks) at(i int) float64 { return t.axis.At(float64(t.axis.dates[i].index), t.n) }

// starts returns the elements that are the first ones of their periods. The first element of all is
// one of them if it is at the beginning of a period that has the usual distance.
func (t dateTicks) starts(period func(d cf.Date) int64) (out []int) {
	dates := t.axis.dates
	for i := range dates {
		if period == nil || i > 0 && period(dates[i].Date) != period(dates[i-1].Date) {
			out = append(out, i)
		}
	}
	if period == nil || len(out) < 2 {
		return out
	}
	if first := out[0]; 2*first > out[1]-out[0] && precision(dates[0].Date) <= precision(dates[first].Date) {
		out = append([]int{0}, out...)
	}
	return out
}

// fits reports whether the labels of some elements do not overlap.
func (t dateTicks) fits(at []int) bool {
	taken := vg.Length(0)
	first, last := t.axis.edges(t.n)
	labels := t.labels(at)
	for i := range at {
		width := t.takes(labels[i])
		taken += width
		if i > 0 {
			gap := (t.at(at[i]) - t.at(at[i-1])) / (last - first)
			if vg.Length(gap)*t.space < width {
				return false
			}
		}
	}
	return taken <= t.space
}

// labels formats the dates of some elements with the same parts.
func (t dateTicks) labels(at []int) []string {
	part := toYear
	for _, i := range at {
		part = max(part, precision(t.axis.dates[i].Date))
	}
	out := make([]string, len(at))
	for i, k := range at {
		out[i] = dateTo(t.axis.dates[k].Date, part)
	}
	return out
}

// ends returns the text of the first and of the last coordinate.
func (x *Axis) ends(n int64) (first, last string) {
	if x.dates != nil {
		from, to := x.dates[0].Date, x.dates[len(x.dates)-1].Date
		part := max(precision(from), precision(to), toDay)
		return dateTo(from, part), dateTo(to, part)
	}
	return Numbers(x.First, x.Last)
}
