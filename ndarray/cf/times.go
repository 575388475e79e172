// Times as numbers: a unit, a reference time, and a calendar.

package cf

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

// times defines the dates of numbers, for example "days since 1970-01-01" in a calendar (sections
// 4.4 and 4.4.1).
type times struct {
	text      string
	calendar  *calendar
	day       int64 // of the reference time
	rest      int64 // ticks of the day of the reference time
	unit      int64 // in ticks
	perDay    int64 // ticks
	corrected bool  // rounded numbers of ticks next to a whole second are corrected, as in cftime
}

// Ticks per day, and of the units of cftime. Only the unit nanosecond has ticks of 1 ns.
const (
	perDayMicros = 86400e6
	perDayNanos  = 86400e9
)

// unitMicros are the units of time in microseconds: those of cftime, weeks, and the symbol us.
var unitMicros = unitTable(map[int64]string{
	1:            "microseconds microsecond microsec microsecs us usec usecs",
	1e3:          "milliseconds millisecond millisec millisecs msec msecs ms",
	1e6:          "second seconds sec secs s",
	60e6:         "minute minutes min mins",
	3600e6:       "hour hours hr hrs h",
	perDayMicros: "day days d",
	7 * 86400e6:  "week weeks",
})

// nanoseconds are the names of the unit of 1 ns, and the others those of units without a length of
// their own in most calendars.
var (
	nanoseconds = strings.Fields("nanoseconds nanosecond nanosec nanosecs nsec nsecs ns")
	months      = strings.Fields("month months")
	commonYears = strings.Fields("common_year common_years")
)

func unitTable(names map[int64]string) map[string]int64 {
	out := make(map[string]int64)
	for size, list := range names {
		for _, name := range strings.Fields(list) {
			out[name] = size
		}
	}
	return out
}

// errNoTimes means that units is not a time since a date.
var errNoTimes = errors.New("no times")

// badTimes is the reason why units and calendar define no dates.
type badTimes struct {
	attribute, problem string
	unreal             bool // the reference time is not a date of the calendar
}

// parseTimes interprets the attributes units and calendar. It returns nil if units is not a time
// since a date, and the reason for a unit that the calendar does not define, an unknown calendar
// and an invalid reference time.
func parseTimes(units, calendar string) (*times, *badTimes) {
	words := strings.Fields(units)
	if len(words) < 3 || !strings.EqualFold(words[1], "since") {
		return nil, nil
	}
	bad := func(attribute, format string, args ...any) (*times, *badTimes) {
		return nil, &badTimes{attribute: attribute, problem: fmt.Sprintf(format, args...)}
	}
	t := &times{text: units, calendar: calendarOf(calendar), perDay: perDayMicros}
	if calendar != "" {
		t.text += ", calendar " + calendar
	}
	head := strings.TrimLeft(units, " \t\r\n\v\f")[len(words[0]):]
	head = strings.TrimLeft(head, " \t\r\n\v\f")[len("since"):]
	reference, err := parseReference(strings.TrimSpace(head))
	unit := strings.ToLower(words[0])
	known := t.setUnit(unit)
	switch {
	case err != nil && !known:
		return nil, nil // not a time
	case err != nil:
		return bad("units", "%q: %v", units, err)
	case t.calendar == nil:
		return bad("calendar", "got %q, want standard, proleptic_gregorian, julian, noleap, all_leap, 360_day or tai", calendar)
	case !known:
		return bad("units", "%q: the unit %q has no length in the calendar %q", units, unit, t.calendar.name)
	case t.calendar == &tai && reference.offset != 0:
		return bad("units", "%q: the calendar tai has no time zones", units)
	}
	day, reason := t.calendar.dayNumber(reference.Date)
	if reason != "" {
		t, why := bad("units", "%q: reference time %v: %s in the calendar %q", units, reference.Date, reason, t.calendar.name)
		why.unreal = true
		return t, why
	}
	minutes := reference.offset
	t.rest = reference.Nanos/(perDayNanos/t.perDay) - minutes*(t.perDay/1440)
	t.day, t.rest = day+floorDiv(t.rest, t.perDay), floorMod(t.rest, t.perDay)
	return t, nil
}

// setUnit sets the unit. It returns false if the calendar does not define it.
func (t *times) setUnit(unit string) bool {
	is := func(names []string) bool {
		for _, name := range names {
			if name == unit {
				return true
			}
		}
		return false
	}
	size, ok := unitMicros[unit]
	switch {
	case is(nanoseconds):
		t.unit, t.perDay = 1, perDayNanos
		return true
	case is(months) && t.calendar == &days360:
		size = 30 * perDayMicros
	case is(commonYears) && t.calendar == &noLeap:
		size = 365 * perDayMicros
	case !ok:
		return false
	}
	t.unit, t.corrected = size, size >= 1e6
	return true
}

// nanoseconds reports whether the dates have nanoseconds. Otherwise they have microseconds.
func (t *times) nanoseconds() bool { return t.perDay == perDayNanos }

func (t *times) String() string { return "times: " + t.text }

// format formats a date with the precision of the times.
func (t *times) format(d Date) string {
	if t.nanoseconds() {
		return d.text(9)
	}
	return d.text(6)
}

// reference is a date with an offset from UTC in minutes.
type reference struct {
	Date
	offset int64
}

// referenceForm is the form of a reference time in cftime.
var referenceForm = regexp.MustCompile(`^([+-]?[0-9]+)-([0-9]{1,2})-([0-9]{1,2})` +
	`(?:(?:.([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]+))?)?)?(?:.?(Z|[-+][0-9]{2}(?::?[0-9]{2})?))?)?`)

// withoutMeaning is text after a reference time that does not change it: UTC, or zeros.
var withoutMeaning = regexp.MustCompile(`^[\s.,]*(?:[T\s]?\s*[0:.]+)?\s*(?:[-+][0:]+)?\s*(?:UTC|GMT|Z)?\s*$`)

// parseReference parses a reference time in UTC or with an offset. cftime ignores text after the
// form that it knows, for example the hour in "2000-01-01 6". Such text is an error here, unless it
// does not change the time.
func parseReference(s string) (r reference, err error) {
	m := referenceForm.FindStringSubmatch(s)
	if m == nil || !withoutMeaning.MatchString(s[len(m[0]):]) {
		return r, fmt.Errorf("reference time: got %q, want a date such as 2000-01-01 12:00:00", s)
	}
	year, err := strconv.ParseInt(m[1], 10, 32)
	if err != nil {
		return r, fmt.Errorf("reference time %q: year out of range", s)
	}
	number := func(s string) int64 {
		n, _ := strconv.ParseInt(s, 10, 64) // at most two digits, or ""
		return n
	}
	hour, minute, second := number(m[4]), number(m[5]), number(m[6])
	if hour > 23 || minute > 59 || second > 59 {
		return r, fmt.Errorf("reference time %q: invalid time of day", s)
	}
	fraction, err := strconv.ParseFloat("0."+m[7]+"0", 64) // truncated to microseconds, as in cftime
	if err != nil {
		return r, err
	}
	r.Date = Date{Year: year, Month: int(number(m[2])), Day: int(number(m[3])), Nanos: (hour*3600+minute*60+second)*1e9 + int64(fraction*1e6)*1e3}
	if zone := m[8]; zone != "" && zone != "Z" {
		digits := strings.ReplaceAll(zone[1:], ":", "")
		r.offset = number(digits[:2])*60 + number(digits[2:])
		if zone[0] == '-' {
			r.offset = -r.offset
		}
	}
	return r, nil
}

// errRange means that a number of times is too large for a date.
var errRange = errors.New("out of range")

// ofInt returns the date of an integer, exactly. v is a uint64 if unsigned is set. Like cftime, it
// returns errRange if the time since the reference does not fit 64 bits in microseconds.
func (t *times) ofInt(v int64, unsigned bool) (Date, error) {
	size, negative := uint64(v), false
	if !unsigned && v < 0 {
		size, negative = -size, true
	}
	high, ticks := bits.Mul64(size, uint64(t.unit))
	switch {
	case high != 0 || ticks > 1<<63 || ticks == 1<<63 && !negative:
		return Date{}, errRange
	case negative:
		return t.after(int64(-ticks))
	}
	return t.after(int64(ticks))
}

// ofFloat returns the date of a float, rounded to microseconds as by cftime. It returns errRange
// like ofInt, and errNoTimes for NaN and infinities.
func (t *times) ofFloat(v float64) (Date, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Date{}, errNoTimes
	}
	floor, remainder := t.product(math.Abs(v))
	if remainder < 0 {
		return Date{}, errRange
	}
	// floor and remainder are those of the magnitude.
	nearest := floor
	if remainder > half || remainder == half && floor%2 == 1 {
		nearest++
	}
	up := floor
	if remainder > 0 {
		up++
	}
	if v < 0 {
		floor, up = up, floor // of the negative number, as magnitudes
	}
	if t.corrected {
		switch last := signedMod(nearest, v < 0); last {
		case 1:
			nearest = floor
		case 999999:
			nearest = up
		}
	}
	if v < 0 {
		if nearest > 1<<63 {
			return Date{}, errRange
		}
		return t.after(int64(-nearest))
	}
	if nearest > math.MaxInt64 {
		return Date{}, errRange
	}
	return t.after(int64(nearest))
}

// signedMod returns ±n modulo 10^6, from 0 to 999999.
func signedMod(n uint64, negative bool) int64 {
	last := int64(n % 1e6)
	if negative && last > 0 {
		last = 1e6 - last
	}
	return last
}

// half is 1/2 as a remainder of product.
const half = 1 << 61

// product returns v × unit in the precision of 64 bits that long double has on x86-64: the integral
// part, and the rest in units of 2^-62, rounded to odd. The rest is negative if the product is
// 2^64 or more.
func (t *times) product(v float64) (whole uint64, rest int64) {
	fraction, exponent := math.Frexp(v)
	if fraction == 0 {
		return 0, 0
	}
	high, low := bits.Mul64(uint64(math.Ldexp(fraction, 64)), uint64(t.unit))
	exponent -= 64 // the product is (high × 2^64 + low) × 2^exponent
	shift := bits.LeadingZeros64(high)
	if high == 0 {
		high, low, exponent = low, 0, exponent-64
		shift = bits.LeadingZeros64(high)
	}
	high, low = high<<shift|low>>(64-shift), low<<shift
	exponent += 64 - shift // the product is (high + low / 2^64) × 2^exponent
	if low > 1<<63 || low == 1<<63 && high%2 == 1 {
		if high++; high == 0 {
			high, exponent = 1<<63, exponent+1
		}
	}
	switch {
	case exponent > 0:
		return 0, -1
	case exponent == 0:
		return high, 0
	case exponent <= -128:
		return 0, 1
	case exponent <= -64:
		whole, low = 0, high>>(-64-exponent)
		if low<<(-64-exponent) != high {
			low |= 1
		}
	default:
		whole, low = high>>-exponent, high<<(64+exponent)
	}
	rest = int64(low >> 2)
	if low&3 != 0 {
		rest |= 1
	}
	return whole, rest
}

// after returns the date of a number of ticks after the reference time.
func (t *times) after(ticks int64) (Date, error) {
	day, rest := t.day+floorDiv(ticks, t.perDay), t.rest+floorMod(ticks, t.perDay)
	if rest >= t.perDay {
		day, rest = day+1, rest-t.perDay
	}
	d := t.calendar.dateOf(day)
	if t.calendar == &tai && d.Year < 1958 || d.Year > math.MaxInt32 || d.Year < math.MinInt32 {
		return Date{}, errRange
	}
	d.Nanos = rest * (perDayNanos / t.perDay)
	return d, nil
}

// ticks returns the date as ticks of a datetime64 since 1970, or a reason why there are none:
// datetime64 has the dates of the proleptic Gregorian calendar.
func (t *times) ticks(d Date) (int64, string) {
	if d.Year <= 0 && !t.calendar.yearZero {
		return 0, "years before 1 have other numbers in datetime64"
	}
	day, reason := proleptic.dayNumber(d)
	if reason != "" {
		return 0, "datetime64 does not have the date"
	}
	high, low := bits.Mul64(uint64(max(day, -day)), uint64(t.perDay))
	rest := uint64(d.Nanos / (perDayNanos / t.perDay))
	if day >= 0 {
		low, carry := bits.Add64(low, rest, 0)
		if high+carry != 0 || low > math.MaxInt64 {
			return 0, "it is out of the range of datetime64"
		}
		return int64(low), ""
	}
	low, borrow := bits.Sub64(low, rest, 0)
	if high-borrow != 0 || low >= 1<<63 { // -2^63 is NaT
		return 0, "it is out of the range of datetime64"
	}
	return int64(-low), ""
}
