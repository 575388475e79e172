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

// perSecond returns the number of ticks per second of the units s, ms, us and ns, which need no
// big.Int, or 0.
func (u TimeUnit) perSecond() int64 {
	if u.Count > 1 {
		return 0
	}
	switch u.Name {
	case "s":
		return 1
	case "ms":
		return 1e3
	case "us":
		return 1e6
	case "ns":
		return 1e9
	}
	return 0
}

// attoseconds returns the length of a tick of a unit of constant length, in attoseconds.
func (u TimeUnit) attoseconds() *big.Int {
	n := big.NewInt(int64(max(u.Count, 1)))
	name := u.Name
	if name == "W" {
		n.Mul(n, big.NewInt(7))
		name = "D"
	}
	exponent := 18
	switch name {
	case "D", "h", "m", "s":
		n.Mul(n, big.NewInt(86400/perDay[name]))
	default:
		exponent -= places[name]
	}
	return n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil))
}

// farthest is the largest distance from 1970 in seconds that is converted, 10^9 years.
const farthest = 365e9 * 86400

// decodeTime returns the time of ticks since 1970, in UTC. NaT is the zero Time. It returns
// ErrValue for a time that is not a multiple of 1 ns, one farther than 10^9 years, and the zero
// Time.
func decodeTime(ticks int64, u TimeUnit) (time.Time, error) {
	if ticks == NaT {
		return time.Time{}, nil
	}
	bad := func(reason string) (time.Time, error) {
		return time.Time{}, fmt.Errorf("%w: %s (%d ticks) as time.Time: %s", ErrValue, formatTime(u, ticks), ticks, reason)
	}
	var t time.Time
	switch per := u.perSecond(); {
	case u.Name == "":
		return bad("the ticks have no unit")
	case per > 0:
		if t = time.Unix(ticks/per, ticks%per*(1e9/per)).UTC(); ticks/per > farthest || ticks/per < -farthest {
			return bad("it is too far from 1970")
		}
	case u.Name == "Y" || u.Name == "M":
		n := new(big.Int).Mul(big.NewInt(ticks), big.NewInt(int64(max(u.Count, 1))))
		if !n.IsInt64() || n.Int64() > 1e9 || n.Int64() < -1e9 {
			return bad("it is too far from 1970")
		}
		if u.Name == "Y" {
			t = time.Date(1970+int(n.Int64()), 1, 1, 0, 0, 0, 0, time.UTC)
		} else {
			t = time.Date(1970, 1+time.Month(n.Int64()), 1, 0, 0, 0, 0, time.UTC)
		}
	default:
		n := u.attoseconds()
		n.Mul(n, big.NewInt(ticks))
		rest := new(big.Int)
		if n.DivMod(n, big.NewInt(1e9), rest); rest.Sign() != 0 {
			return bad("it is not a multiple of 1 ns")
		}
		n.DivMod(n, big.NewInt(1e9), rest)
		if !n.IsInt64() || n.Int64() > farthest || n.Int64() < -farthest {
			return bad("it is too far from 1970")
		}
		t = time.Unix(n.Int64(), rest.Int64()).UTC()
	}
	if t.IsZero() {
		return bad("the zero Time is NaT")
	}
	return t, nil
}

// encodeTime returns the ticks since 1970 of a time. The zero Time is NaT. It returns ErrValue for
// a time that is not a multiple of the unit, and for one beyond its range.
func encodeTime(t time.Time, u TimeUnit) (int64, error) {
	if t.IsZero() {
		return NaT, nil
	}
	t = t.UTC()
	bad := func(reason string) (int64, error) {
		return 0, fmt.Errorf("%w: %v as datetime64%s: %s", ErrValue, t, u.text(), reason)
	}
	if per := u.perSecond(); per > 0 && t.Nanosecond()%int(1e9/per) == 0 && t.Unix() < math.MaxInt64/per && t.Unix() > math.MinInt64/per {
		return t.Unix()*per + int64(t.Nanosecond())/(1e9/per), nil
	}
	n, rest, tick := new(big.Int), new(big.Int), big.NewInt(int64(max(u.Count, 1)))
	switch u.Name {
	case "":
		return bad("the ticks have no unit")
	case "Y", "M":
		start := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
		months := int64(t.Month()) - 1
		if !t.Equal(start) || u.Name == "Y" && months != 0 {
			return bad("it is not the start of one")
		}
		n.SetInt64(int64(t.Year()) - 1970)
		if u.Name == "M" {
			n.Add(n.Mul(n, big.NewInt(12)), big.NewInt(months))
		}
	default:
		tick = u.attoseconds()
		n.Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
		n.Add(n, big.NewInt(int64(t.Nanosecond())))
		n.Mul(n, big.NewInt(1e9))
	}
	if n.DivMod(n, tick, rest); rest.Sign() != 0 {
		return bad("it is not a multiple of the unit")
	}
	if !n.IsInt64() || n.Int64() == NaT {
		return bad("it is beyond the range of 64 bits")
	}
	return n.Int64(), nil
}
