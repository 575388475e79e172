// Calendars: the number of a day for a date, and the date of a day.

package cf

import (
	"fmt"
	"strings"
)

// Date is a date and a time of day in a calendar.
type Date struct {
	Year       int64 // no year 0 in the calendars standard and julian: -1 is the year before 1
	Month, Day int
	Nanos      int64 // of the day
}

// String returns the date as ISO 8601 with microseconds, as cftime does.
func (d Date) String() string { return d.text(6) }

// text returns the date with 6 or 9 decimal places of the second.
func (d Date) text(places int) string {
	width := 4
	if d.Year < 0 {
		width = 5
	}
	fraction := fmt.Sprintf("%09d", d.Nanos%1e9)[:places]
	s := d.Nanos / 1e9
	return fmt.Sprintf("%0*d-%02d-%02dT%02d:%02d:%02d.%s", width, d.Year, d.Month, d.Day, s/3600, s/60%60, s%60, fraction)
}

// calendar is a calendar of the CF conventions. Days are counted from 1970-01-01 in real calendars
// and from the first day of the year 0 in idealized ones.
type calendar struct {
	name     string
	yearZero bool // there is a year 0
	leap     func(year int64) bool
	day      func(year int64, month, day int) int64 // of a valid date; year is astronomical
	date     func(day int64) (year int64, month, dayOfMonth int)
}

// Days of 1970-01-01 since March 1 of the year 0.
const (
	gregorianEpoch = 719468
	julianEpoch    = 719470
	firstGregorian = -141427 // the day 1582-10-15
)

var (
	proleptic = calendar{name: "proleptic_gregorian", yearZero: true, leap: gregorianLeap, day: gregorianDay, date: gregorianDate}
	tai       = calendar{name: "tai", leap: gregorianLeap, day: gregorianDay, date: gregorianDate}
	julian    = calendar{name: "julian", leap: julianLeap, day: julianDay, date: julianDate}
	standard  = calendar{name: "standard", leap: standardLeap, day: standardDay, date: standardDate}
	noLeap    = idealized("noleap", 365, false)
	allLeap   = idealized("all_leap", 366, true)
	days360   = calendar{
		name: "360_day", yearZero: true,
		day: func(year int64, month, day int) int64 { return year*360 + int64(month-1)*30 + int64(day-1) },
		date: func(day int64) (int64, int, int) {
			year, rest := floorDiv(day, 360), int(floorMod(day, 360))
			return year, rest/30 + 1, rest%30 + 1
		},
	}
)

// calendars contains the calendars by their names.
var calendars = map[string]*calendar{
	"": &standard, "standard": &standard, "gregorian": &standard, "proleptic_gregorian": &proleptic, "tai": &tai, "julian": &julian,
	"noleap": &noLeap, "365_day": &noLeap, "all_leap": &allLeap, "366_day": &allLeap, "360_day": &days360,
}

// calendarOf returns the calendar of the attribute calendar, or nil for an unknown one.
func calendarOf(name string) *calendar { return calendars[strings.ToLower(strings.TrimSpace(name))] }

// monthDays are the days before each month.
var (
	monthDays     = [13]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}
	leapMonthDays = [13]int{0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366}
)

// idealized returns a calendar with years of equal length.
func idealized(name string, length int64, leap bool) calendar {
	before := &monthDays
	if leap {
		before = &leapMonthDays
	}
	return calendar{
		name: name, yearZero: true, leap: func(int64) bool { return leap },
		day: func(year int64, month, day int) int64 { return year*length + int64(before[month-1]+day-1) },
		date: func(day int64) (int64, int, int) {
			year, rest := floorDiv(day, length), int(floorMod(day, length))
			month := 1
			for before[month] <= rest {
				month++
			}
			return year, month, rest - before[month-1] + 1
		},
	}
}

func julianLeap(year int64) bool    { return floorMod(year, 4) == 0 }
func gregorianLeap(year int64) bool { return julianLeap(year) && (year%100 != 0 || year%400 == 0) }

func standardLeap(year int64) bool {
	if year < 1582 {
		return julianLeap(year)
	}
	return gregorianLeap(year)
}

// dayOfYear returns the day of a year that begins in March, counted from 0.
func dayOfYear(month, day int) int64 { return int64((153*((month+9)%12)+2)/5 + day - 1) }

// monthOf returns month and day for a day of a year that begins in March.
func monthOf(day int64) (month, dayOfMonth int) {
	m := (5*int(day) + 2) / 153
	return (m+2)%12 + 1, int(day) - (153*m+2)/5 + 1
}

// marchYear returns the year that begins in March and contains the month.
func marchYear(year int64, month int) int64 {
	if month <= 2 {
		return year - 1
	}
	return year
}

func julianDay(year int64, month, day int) int64 {
	year = marchYear(year, month)
	return 365*year + floorDiv(year, 4) + dayOfYear(month, day) - julianEpoch
}

func julianDate(day int64) (year int64, month, dayOfMonth int) {
	day += julianEpoch
	cycle, rest := floorDiv(day, 1461), floorMod(day, 1461)
	inCycle := min(rest/365, 3)
	month, dayOfMonth = monthOf(rest - 365*inCycle)
	return calendarYear(4*cycle+inCycle, month), month, dayOfMonth
}

func gregorianDay(year int64, month, day int) int64 {
	year = marchYear(year, month)
	return 365*year + floorDiv(year, 4) - floorDiv(year, 100) + floorDiv(year, 400) + dayOfYear(month, day) - gregorianEpoch
}

func gregorianDate(day int64) (year int64, month, dayOfMonth int) {
	day += gregorianEpoch
	cycle, rest := floorDiv(day, 146097), floorMod(day, 146097)
	century := min(rest/36524, 3)
	rest -= century * 36524
	four := rest / 1461
	rest -= four * 1461
	inFour := min(rest/365, 3)
	month, dayOfMonth = monthOf(rest - 365*inFour)
	return calendarYear(400*cycle+100*century+4*four+inFour, month), month, dayOfMonth
}

// calendarYear returns the year that begins in January for a month of a year that begins in March.
func calendarYear(year int64, month int) int64 {
	if month <= 2 {
		return year + 1
	}
	return year
}

// standardDay returns the day in the calendar that is Julian before 1582-10-15.
func standardDay(year int64, month, day int) int64 {
	if n := gregorianDay(year, month, day); n >= firstGregorian {
		return n
	}
	return julianDay(year, month, day)
}

func standardDate(day int64) (year int64, month, dayOfMonth int) {
	if day >= firstGregorian {
		return gregorianDate(day)
	}
	return julianDate(day)
}

// dayNumber returns the number of the day of a date, or a reason why the date does not exist.
func (c *calendar) dayNumber(d Date) (day int64, reason string) {
	year := d.Year
	switch {
	case year == 0 && !c.yearZero:
		return 0, "there is no year 0"
	case year < 0 && !c.yearZero:
		year++
	}
	switch {
	case d.Month < 1 || d.Month > 12:
		return 0, "there is no such month"
	case d.Day < 1 || d.Day > c.monthLength(year, d.Month):
		return 0, "there is no such day"
	case c == &standard && d.Year == 1582 && d.Month == 10 && d.Day > 4 && d.Day < 15:
		return 0, "1582-10-15 follows 1582-10-04"
	case c == &tai && d.Year < 1958:
		return 0, "the first date is 1958-01-01"
	}
	return c.day(year, d.Month, d.Day), ""
}

// monthLength returns the number of days of a month in an astronomical year.
func (c *calendar) monthLength(year int64, month int) int {
	switch {
	case c == &days360:
		return 30
	case c.leap(year):
		return leapMonthDays[month] - leapMonthDays[month-1]
	}
	return monthDays[month] - monthDays[month-1]
}

// dateOf returns the date of a day, without its time.
func (c *calendar) dateOf(day int64) Date {
	year, month, dayOfMonth := c.date(day)
	if year <= 0 && !c.yearZero {
		year--
	}
	return Date{Year: year, Month: month, Day: dayOfMonth}
}

// floorDiv returns a / b, rounded down. b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// floorMod returns a - b × floorDiv(a, b).
func floorMod(a, b int64) int64 {
	if a %= b; a < 0 {
		a += b
	}
	return a
}
