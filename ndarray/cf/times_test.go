package cf

import (
	"bytes"
	"encoding/json"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// cftimeCases is a Python program. It prints random numbers of each calendar and unit with the
// dates that cftime returns for them, or "error". Floats are hexadecimal.
const cftimeCases = `import json, random, sys, warnings
import cftime, numpy as np
warnings.simplefilter("ignore")
random.seed(58)
micros = {"microseconds": 1, "MSEC": 1e3, "Seconds": 1e6, "mins": 60e6, "hr": 3600e6, "days": 86400e6, "d": 86400e6}
references = {
    "standard": ["1582-10-15", "1582-10-04 23:59:59.999999", "1970-01-01 00:00:00 UTC", "2000-02-29T12:30:15.25", "0001-1-1", "-4712-01-01 12:00", "1500-02-29", "1900-1-1 00:00:0.0 -06:00", "1-3-1 5:6:7+0530", "1582-10-15 00:00 +09"],
    "proleptic_gregorian": ["0000-02-29", "1582-10-10 6:00", "-1-12-31 23:59:59.29", "9999-12-31T23:59:59Z", "1970-01-01-0330", "-0400-3-1"],
    "julian": ["1900-02-29", "-1-02-28 12:00", "1582-10-10", "100-02-29", "-4713-11-24"],
    "noleap": ["0000-01-01", "2000-03-01 18:00:00.000001", "-12-12-31", "1850-02-28 -12:00"],
    "all_leap": ["1999-02-29", "0-1-1 1:2:3", "-5-2-29"],
    "360_day": ["2000-02-30", "0-1-1", "-17-12-30 23:59", "1949-12-01 +05:30"],
    "tai": ["1958-01-01", "1972-06-30 23:59:59"],
}
synonyms = {"standard": ["standard", "Gregorian", "GREGORIAN"], "noleap": ["noleap", "365_day"], "all_leap": ["all_leap", "366_day"]}
bad = [
    ("days since 1582-10-10", "standard"), ("days since 1582-10-05", "gregorian"), ("days since 0000-01-01", "standard"), ("days since 0-1-1", "julian"),
    ("days since 2000-02-29", "noleap"), ("days since 2000-02-29", "365_day"), ("days since 2001-02-29", "proleptic_gregorian"), ("days since 1900-02-29", "standard"), ("days since 2000-02-31", "360_day"),
    ("days since 2000-13-01", "all_leap"), ("months since 2000-01-01", "standard"), ("months since 2000-01-01", "noleap"), ("common_years since 2000-01-01", "all_leap"),
    ("years since 2000-01-01", "360_day"), ("days since 2000-01-01", "none"), ("days since 2000-01-01", "lunar"), ("days since 1957-12-31", "tai"),
    ("days since 1960-01-01 +01:00", "tai"), ("days since 2000-01-01 24:00", "standard"), ("days since 2000-01-01 00:60", "standard"), ("days since 2000", "standard"),
]
def of(times, units, calendar):
    out = []
    for v in times:
        try:
            d = cftime.num2date(np.array([v]), units, calendar)[0]
            out.append("error" if d is np.ma.masked or np.ma.is_masked(d) else d.isoformat(timespec="microseconds"))
        except (ValueError, OverflowError) as e:
            out.append("error")
    return out
cases = []
for calendar, starts in references.items():
    units = dict(micros)
    if calendar == "360_day":
        units["months"] = 30 * 86400e6
    if calendar == "noleap":
        units["common_years"] = 365 * 86400e6
    for unit, size in units.items():
        for start in starts:
            text = unit + " since " + start
            name = random.choice(synonyms.get(calendar, [calendar]))
            # up to 3000 years, because cftime counts month by month
            years = 3000 * 365 * 86400e6 / size
            ints = [int(random.uniform(-1, 1) * min(years, 2**63 - 1)) for _ in range(8)] + [0, 1, -1, int(150 * 365.25 * 86400e6 / size), 2**62 if size > 2 else 5, -2**63 if size > 1 else -5]
            floats = [random.uniform(-1, 1) * years for _ in range(8)]
            floats += [random.uniform(-1, 1) * 10 ** random.uniform(-6, 5) for _ in range(8)]
            floats += [random.randrange(-10**6, 10**6) * 1e6 / size + random.choice([0, 1, -1, 0.5, -0.5, 1.5, 0.9, -1.4]) / size for _ in range(16)]
            floats += [0.1, -0.3, 1 / 3, 1e-9, -1e-30, -0.0, 5e-324, 1e300, -1e25, float("nan"), float("inf")]
            singles = [float(np.float32(random.uniform(-1, 1) * min(years, 1e6))) for _ in range(4)]
            cases.append({"units": text, "calendar": name, "ints": [str(v) for v in ints], "dates": of([np.int64(v) for v in ints], text, name),
                "floats": [v.hex() for v in floats + singles], "float_dates": of([np.float64(v) for v in floats] + [np.float32(v) for v in singles], text, name)})
for text, name in bad:
    try:
        cftime.num2date(0, text, name)
        raise SystemExit("cftime accepts %s, %s" % (text, name))
    except (ValueError, OverflowError, TypeError):
        cases.append({"units": text, "calendar": name})
json.dump(cases, sys.stdout)`

// TestParseTimes_cftime compares dates with those of cftime.
func TestParseTimes_cftime(t *testing.T) {
	python := testenv.Python(t, "cftime", "numpy")
	cmd := exec.Command(python, "-c", cftimeCases)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	var cases []struct {
		Units, Calendar string
		Ints, Dates     []string
		Floats          []string
		FloatDates      []string `json:"float_dates"`
	}
	require.NoError(t, json.Unmarshal(out, &cases))
	total := 0
	date := func(d Date, err error) string {
		total++
		if err != nil {
			return "error"
		}
		return d.String()
	}
	for _, c := range cases {
		times, bad := parseTimes(c.Units, c.Calendar)
		if c.Dates == nil {
			require.NotNil(t, bad, "%s, %s", c.Units, c.Calendar)
			continue
		}
		require.Nil(t, bad)
		require.NotNil(t, times, "%s, %s", c.Units, c.Calendar)
		for i, text := range c.Ints {
			v, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			require.Equal(t, c.Dates[i], date(times.ofInt(v, false)), "%d %s, %s", v, c.Units, c.Calendar)
			if v >= 0 {
				require.Equal(t, c.Dates[i], date(times.ofInt(v, true)))
			}
		}
		for i, text := range c.Floats {
			v, err := strconv.ParseFloat(strings.Replace(text, "0x0.0p+0", "0", 1), 64)
			require.NoError(t, err)
			require.Equal(t, c.FloatDates[i], date(times.ofFloat(v)), "%v %s, %s", v, c.Units, c.Calendar)
		}
	}
	require.Greater(t, total, 10000)
	t.Logf("%d dates", total)
}

func TestParseTimes(t *testing.T) {
	for name, c := range map[string]struct {
		units, calendar string
		value           int64
		want            string
	}{
		"nanoseconds":        {"nanoseconds since 1970-01-01", "", 1<<62 + 1, "2116-02-20T23:53:38.427387905"},
		"ns":                 {"ns since 2000-01-01 00:00:00.5", "proleptic_gregorian", -1, "2000-01-01T00:00:00.499999999"},
		"weeks":              {"weeks since 1582-10-04", "standard", 1, "1582-10-21T00:00:00.000000"},
		"exact integer":      {"microseconds since 1970-01-01", "standard", 1<<53 + 1, "2255-06-05T23:47:34.740993"},
		"separators":         {" Days\tSINCE  2000-01-01 ", "STANDARD", 1, "2000-01-02T00:00:00.000000"},
		"zeros":              {"days since 2000-01-01  00:00:00 +0:00", "", 1, "2000-01-02T00:00:00.000000"},
		"UTC":                {"hours since 2000-1-1 6:30:00 GMT", "", 1, "2000-01-01T07:30:00.000000"},
		"no year 0":          {"days since 0001-01-01", "standard", -1, "-0001-12-31T00:00:00.000000"},
		"leap day in year 0": {"days since 0000-02-28", "proleptic_gregorian", 1, "0000-02-29T00:00:00.000000"},
	} {
		t.Run(name, func(t *testing.T) {
			times, bad := parseTimes(c.units, c.calendar)
			require.Nil(t, bad)
			d, err := times.ofInt(c.value, false)
			require.NoError(t, err)
			require.Equal(t, c.want, times.format(d))
		})
	}
	for _, units := range []string{"", "days", "m s-1", "seconds since", "metres since the top", "number since last year", "days before 2000-01-01"} {
		times, bad := parseTimes(units, "standard")
		require.Nil(t, bad, units)
		require.Nil(t, times, units)
	}
	for _, units := range []string{"days since last year", "days since 2000-01-01 6", "days since 2000-01-01 noon", "days since 2000-01-01 00:00 EST", "decades since 1900-01-01", "days since 99999999999-01-01"} {
		_, bad := parseTimes(units, "standard")
		require.NotNil(t, bad, units)
	}
}

// TestCalendar_date checks that the days of each calendar have consecutive dates, which exist.
func TestCalendar_date(t *testing.T) {
	for name, c := range calendars {
		t.Run(name, func(t *testing.T) {
			first, last := int64(-900_000), int64(900_000)
			if c == &tai {
				first = -4383
			}
			previous := Date{Year: math.MinInt32}
			for day := first; day < last; day++ {
				d := c.dateOf(day)
				at, reason := c.dayNumber(d)
				if at != day || reason != "" || d.Year < previous.Year || d.Year == previous.Year && 32*d.Month+d.Day <= 32*previous.Month+previous.Day {
					t.Fatalf("day %d is %v after %v, day %d %s", day, d, previous, at, reason)
				}
				previous = d
			}
		})
	}
}

func TestTimes_ticks(t *testing.T) {
	for name, c := range map[string]struct {
		units, calendar string
		value           int64
		want            int64
		reason          string
	}{
		"gregorian":         {"days since 1970-01-01", "standard", 1, perDayMicros, ""},
		"before 1970":       {"microseconds since 1969-12-31 23:59:59", "standard", 1, -999_999, ""},
		"nanoseconds":       {"nanoseconds since 1970-01-01", "standard", math.MaxInt64, math.MaxInt64, ""},
		"first nanosecond":  {"nanoseconds since 1970-01-01", "standard", math.MinInt64 + 1, math.MinInt64 + 1, ""},
		"NaT":               {"nanoseconds since 1970-01-01", "standard", math.MinInt64, 0, "out of the range"},
		"beyond":            {"nanoseconds since 1970-01-02", "standard", math.MaxInt64, 0, "out of the range"},
		"far microseconds":  {"microseconds since 1970-01-02", "standard", math.MaxInt64, 0, "out of the range"},
		"day 30 of 2":       {"days since 2000-02-30", "360_day", 0, 0, "does not have the date"},
		"Julian leap day":   {"days since 1500-02-29", "standard", 0, 0, "does not have the date"},
		"before the year 1": {"days since 0001-01-01", "standard", -1, 0, "other numbers"},
		"noleap":            {"days since 1970-01-01", "noleap", 365 * 3, 1096 * perDayMicros, ""},
	} {
		t.Run(name, func(t *testing.T) {
			times, bad := parseTimes(c.units, c.calendar)
			require.Nil(t, bad)
			d, err := times.ofInt(c.value, false)
			require.NoError(t, err)
			got, reason := times.ticks(d)
			require.Contains(t, reason, c.reason)
			require.Equal(t, c.reason == "", reason == "")
			if c.reason == "" {
				require.Equal(t, c.want, got)
			}
		})
	}
}
