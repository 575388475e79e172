// Times formatted as dates of the proleptic Gregorian calendar, from NumPy's number of ticks since
// 1970.

package ndarray

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
)

// NaT is the value of a DateTime or TimeDelta that is undefined (NumPy's "not a time").
const NaT = math.MinInt64

// perDay is the number of units per day, for units of at most a day.
var perDay = map[string]int64{
	"D": 1, "h": 24, "m": 1440, "s": 86400, "ms": 86400e3, "us": 86400e6, "ns": 86400e9, "ps": 86400e12,
}

// places is the number of decimal places of the second for a unit.
var places = map[string]int{"ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}

// formatTime formats ticks since 1970 as ISO 8601, with the precision of the unit. Ticks of the
// generic unit and times beyond the year ±10^9 are formatted as a number.
func formatTime(u TimeUnit, ticks int64) string {
	if ticks == NaT {
		return "NaT"
	}
	n := new(big.Int).Mul(big.NewInt(ticks), big.NewInt(int64(max(u.Count, 1))))
	plain := n.String() + u.Name
	switch u.Name {
	case "":
		return plain
	case "Y":
		if year := n.Add(n, big.NewInt(1970)); year.IsInt64() {
			return fmt.Sprintf("%04d", year.Int64())
		}
		return plain
	case "M":
		if !n.IsInt64() {
			return plain
		}
		year, month := new(big.Int).DivMod(n, big.NewInt(12), new(big.Int))
		return fmt.Sprintf("%04d-%02d", year.Int64()+1970, month.Int64()+1)
	case "W":
		n.Mul(n, big.NewInt(7))
		u.Name = "D"
	}
	day := big.NewInt(perDay[u.Name])
	switch u.Name { // units per day that do not fit an int64
	case "fs":
		day.Mul(big.NewInt(86400e12), big.NewInt(1000))
	case "as":
		day.Mul(big.NewInt(86400e12), big.NewInt(1000_000))
	}
	days, rest := new(big.Int).DivMod(n, day, new(big.Int))
	if !days.IsInt64() || days.Int64() > 365e9 || days.Int64() < -365e9 {
		return plain
	}
	date := civil(days.Int64())
	if u.Name == "D" {
		return date
	}
	digits := places[u.Name]
	perSecond := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	switch u.Name {
	case "h":
		return fmt.Sprintf("%sT%02d", date, rest.Int64())
	case "m":
		return fmt.Sprintf("%sT%02d:%02d", date, rest.Int64()/60, rest.Int64()%60)
	}
	seconds, fraction := new(big.Int).DivMod(rest, perSecond, new(big.Int))
	s := seconds.Int64()
	text := fmt.Sprintf("%sT%02d:%02d:%02d", date, s/3600, s/60%60, s%60)
	if digits > 0 {
		text += fmt.Sprintf(".%0*s", digits, fraction.String())
	}
	return text
}

// civil returns the date of a day counted from 1970-01-01. It maps the day into the first 400
// years, because the calendar repeats after 400 years and package time handles all dates of such a
// cycle.
func civil(days int64) string {
	const cycle = 146097 // days in 400 years
	cycles := days / cycle
	if days%cycle < 0 {
		cycles--
	}
	t := time.Unix((days-cycles*cycle)*86400, 0).UTC()
	return fmt.Sprintf("%04d-%02d-%02d", int64(t.Year())+400*cycles, t.Month(), t.Day())
}

// formatSpan formats a TimeDelta in its unit, for example "125s".
func formatSpan(u TimeUnit, ticks int64) string {
	if ticks == NaT {
		return "NaT"
	}
	if u.Count <= 1 {
		return strconv.FormatInt(ticks, 10) + u.Name
	}
	return new(big.Int).Mul(big.NewInt(ticks), big.NewInt(int64(u.Count))).String() + u.Name
}
