package picture

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"github.com/hyperslab/hyperslab/ndarray/cf"
)

func TestAxis_spans(t *testing.T) {
	even := &Axis{Last: 9}
	require.Equal(t, []span{{0, 1}, {0, 1}, {1, 2}, {1, 2}}, even.spans(2, 2, 4, false))
	require.Equal(t, []span{{0, 3}, {3, 5}, {5, 8}, {8, 10}}, even.spans(10, 10, 4, false), "each cell in one pixel")
	require.Equal(t, []span{{8, 10}, {5, 8}, {3, 5}, {0, 3}}, even.spans(10, 10, 4, true))
	uneven := &Axis{First: 0, Last: 100, Known: true, points: []float64{0, 10, 30, 100}}
	first, last := uneven.edges(4)
	require.Equal(t, []float64{-5, 135}, []float64{first, last})
	require.Equal(t, []span{{0, 1}, {1, 2}, {1, 2}, {2, 3}, {2, 3}, {2, 3}, {2, 3}, {3, 4}, {3, 4}, {3, 4}, {3, 4}, {3, 4}, {3, 4}, {3, 4}},
		uneven.spans(4, 4, 14, false), "10 units each; the edges are -5, 5, 20, 65")
	require.Equal(t, []span{{0, 3}, {3, 4}}, uneven.spans(4, 4, 2, false))
	falling := &Axis{First: 100, Last: 0, Known: true, points: []float64{100, 30, 10, 0}}
	require.Equal(t, []span{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 2}}, falling.spans(4, 4, 14, false)[:8])
	require.Equal(t, []span{{3, 4}, {2, 3}}, falling.spans(4, 4, 14, true)[:2])
}

// TestAxis_direction checks which index is at the top and at the right.
func TestAxis_direction(t *testing.T) {
	for name, x := range map[string]struct {
		axis       Axis
		top, right bool
	}{
		"indexes":                {Axis{Last: 5}, true, false},
		"reversed indexes":       {Axis{First: 5}, true, false},
		"latitude from south":    {Axis{First: -90, Last: 90, Known: true}, false, false},
		"latitude from north":    {Axis{First: 90, Last: -90, Known: true}, true, true},
		"depth":                  {Axis{First: 0, Last: 100, Known: true, Down: true}, true, false},
		"pressure from 1000 hPa": {Axis{First: 1000, Last: 1, Known: true, Down: true}, false, true},
		"curved from south":      {Axis{Last: 5, Up: true}, false, false},
		"one index":              {Axis{First: 3, Last: 3, Known: true}, true, false},
	} {
		require.Equal(t, []bool{x.top, x.right}, []bool{x.axis.fromTop(), x.axis.fromRight()}, name)
	}
}

// datedAxis returns an axis of dates at equal distances.
func datedAxis(dates ...cf.Date) *Axis {
	x := &Axis{Last: float64(len(dates) - 1), Known: true}
	for i, d := range dates {
		x.dates = append(x.dates, dated{int64(i), d})
	}
	return x
}

func labels(x *Axis, space vg.Length) (out []string) {
	first, last := x.edges(int64(len(x.dates)))
	ticks := dateTicks{x, int64(len(x.dates)), space, func(label string) vg.Length { return vg.Length(6 * len(label)) }}
	for _, t := range ticks.Ticks(first, last) {
		out = append(out, t.Label)
	}
	return out
}

func TestDateTicks(t *testing.T) {
	var months, hours, days []cf.Date
	for i := range 36 {
		months = append(months, cf.Date{Year: 2000 + int64(i/12), Month: i%12 + 1, Day: 1})
	}
	for i := range 48 {
		hours = append(hours, cf.Date{Year: 2024, Month: 2, Day: 29 + i/24, Nanos: int64(i%24) * 3600e9})
	}
	for i := range 60 { // the calendar 360_day has a 30th of February
		days = append(days, cf.Date{Year: 2001, Month: 2 + i/30, Day: i%30 + 1})
	}
	require.Equal(t, []string{"2000", "2001", "2002"}, labels(datedAxis(months...), 100))
	require.Equal(t, []string{"2000-01", "2000-07", "2001-01", "2001-07", "2002-01", "2002-07"}, labels(datedAxis(months...), 400))
	require.Equal(t, []string{"2024-02-29 00:00", "2024-02-29 12:00", "2024-02-30 00:00", "2024-02-30 12:00"}, labels(datedAxis(hours...), 450))
	require.Equal(t, []string{"2001-02-01", "2001-02-11", "2001-02-21", "2001-03-01", "2001-03-11", "2001-03-21"}, labels(datedAxis(days...), 500))
	middle := []cf.Date{{Year: 1999, Month: 12, Day: 16}, {Year: 2000, Month: 1, Day: 16}, {Year: 2000, Month: 2, Day: 16}}
	require.Equal(t, []string{"1999-12-16", "2000-01-16", "2000-02-16"}, labels(datedAxis(middle...), 400), "dates of elements")
	require.NotEmpty(t, labels(datedAxis(months...), 10))
}

func TestDateText(t *testing.T) {
	for want, d := range map[string]cf.Date{
		"2024-01-02": {Year: 2024, Month: 1, Day: 2}, "2024-01-02 06:30": {Year: 2024, Month: 1, Day: 2, Nanos: 6.5 * 3600e9},
		"0001-02-03 00:00:01": {Year: 1, Month: 2, Day: 3, Nanos: 1e9}, "-0044-03-15 00:00:00.25": {Year: -44, Month: 3, Day: 15, Nanos: 0.25e9},
		"missing": {},
	} {
		require.Equal(t, want, dateText(d))
	}
}
