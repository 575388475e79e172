package cf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// FuzzParseTimes checks that each date of times exists in their calendar, and that dates in ticks
// are dates of datetime64.
func FuzzParseTimes(f *testing.F) {
	for _, x := range []struct{ units, calendar string }{
		{"days since 1970-01-01", ""}, {"microseconds since 1582-10-04 12:00:00.5 +05:30", "standard"}, {"months since 2000-02-30", "360_day"},
		{"ns since -0001-12-31T23:59:59.999999Z", "proleptic_gregorian"}, {"common_years since 0-1-1", "noleap"}, {"weeks since 2147483647-12-31", "all_leap"},
		{"hours since -2147483648-1-1 00:00 -99:99", "julian"}, {"s since 1958-01-01", "tai"}, {"days since 2000-01-01 UTC", "lunar"},
	} {
		f.Add(x.units, x.calendar, int64(1), 0.5)
		f.Add(x.units, x.calendar, int64(math.MinInt64), -1e300)
	}
	f.Fuzz(func(t *testing.T, units, calendar string, n int64, x float64) {
		times, bad := parseTimes(units, calendar)
		if bad != nil {
			require.Nil(t, times)
			require.NotEmpty(t, bad.problem)
			require.Contains(t, []string{"units", "calendar"}, bad.attribute)
		}
		if times == nil {
			return
		}
		one, err1 := times.ofInt(n, false)
		two, err2 := times.ofInt(n, true)
		three, err3 := times.ofFloat(x)
		for d, err := range map[Date]error{one: err1, two: err2, three: err3} {
			if err != nil {
				continue
			}
			_, reason := times.calendar.dayNumber(d)
			require.Empty(t, reason, "%v", d)
			require.NotEmpty(t, times.format(d))
			if _, reason := times.ticks(d); reason == "" {
				_, ok := d.Time()
				require.True(t, ok, "%v", d)
			}
		}
	})
}

// unread is a backend without attributes, or whose attributes are an error.
type unread struct {
	ndarray.Backend
	err error
}

func (u unread) Attrs(context.Context) (ndarray.Attrs, error) { return ndarray.Attrs{}, u.err }

// bare hides the optional interfaces of a backend.
type bare struct{ ndarray.Backend }

// library is an error of a library that matches ErrUnsupported.
type library struct{}

func (library) Error() string        { return "no such type" }
func (library) Is(target error) bool { return target == errors.ErrUnsupported }

// TestNew_attributes checks that a format without attributes has none, and that attributes that
// cannot be read are an error.
func TestNew_attributes(t *testing.T) {
	b, err := mem.New(ndarray.Spec{Shape: []int64{1}, DType: ndarray.DTypeOf[int8]()})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		backend ndarray.Backend
		fails   bool
	}{
		"no attributes": {bare{b}, false},
		"library":       {unread{b, fmt.Errorf("read: %w", library{})}, true},
		"corrupt":       {unread{b, ndarray.ErrCorrupt}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ndarray.New(c.backend)
			require.NoError(t, err)
			v, err := New(t.Context(), a, nil, "/")
			require.Equal(t, c.fails, err != nil)
			require.Equal(t, c.fails, v == nil)
			view, err := ndarray.View(a, ndarray.Select(ndarray.All()))
			require.NoError(t, err)
			_, err = New(t.Context(), view, nil, "/")
			require.Equal(t, c.fails, err != nil)
		})
	}
}
