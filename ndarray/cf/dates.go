// Dates of a variable, and its values as strings.

package cf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Undated counts the numbers of times that are no dates.
type Undated struct {
	NaN     int64   // NaN and infinities that no attribute marks as missing
	Outside int64   // numbers out of range
	First   []int64 // index of the first element that is counted
}

// errMissing means that an element is a missing value.
var errMissing = errors.New("missing value")

// date returns the date of an element. Its errors are errMissing, errNoTimes and errRange.
func (v *Variable) date(word uint64) (Date, error) {
	p := v.packing
	switch {
	case p.isMissing(word):
		return Date{}, errMissing
	case p.integral():
		n, ok := p.exact(word)
		if !ok {
			return Date{}, errRange
		}
		return v.times.ofInt(int64(n), p.whole.Kind == ndarray.Uint)
	}
	return v.times.ofFloat(p.scaledValue(word))
}

// noDate returns the error of a date that another type of dates lacks.
func (v *Variable) noDate(r ndarray.Region, i int, d Date, reason string) error {
	return fmt.Errorf("%w: element %v is the date %s in the calendar %s: %s", ndarray.ErrValue, grid.Box(r).Index(int64(i)), v.times.format(d), v.times.calendar.name, reason)
}

// outside returns the error of a number of times that is no date.
func (v *Variable) outside(r ndarray.Region, i int, word uint64) error {
	return fmt.Errorf("%w: element %v: %s %s: the date is out of range", ndarray.ErrValue, grid.Box(r).Index(int64(i)), v.number(word), v.times.text)
}

// number formats the value of an element.
func (v *Variable) number(word uint64) string {
	p := v.packing
	if p.integral() {
		switch n, ok := p.exact(word); {
		case !ok:
			return p.exactBig(word).String()
		case p.whole.Kind == ndarray.Uint:
			return strconv.FormatUint(n, 10)
		default:
			return strconv.FormatInt(int64(n), 10)
		}
	}
	f := p.scaledValue(word)
	if p.float.Size == 4 {
		return ndarray.FormatElement(ndarray.DTypeOf[float32](), binary.NativeEndian.AppendUint32(nil, math.Float32bits(float32(f))))
	}
	return ndarray.FormatElement(ndarray.DTypeOf[float64](), binary.NativeEndian.AppendUint64(nil, math.Float64bits(f)))
}

// Formatter reads the elements of a region. It returns a function that formats the value of an
// element, by its number in row-major order: a date of the calendar in ISO 8601, a number with
// all of its digits, "NaT" for no date, or "NaN" for a missing number. It returns ErrType if the
// elements are no numbers, and the errors of Read.
func (v *Variable) Formatter(ctx context.Context, r ndarray.Region) (func(i int) string, error) {
	words, err := v.words(ctx, r)
	if err != nil {
		return nil, err
	}
	return func(i int) string {
		word := binary.NativeEndian.Uint64(words[8*i:])
		switch {
		case v.times != nil:
			d, err := v.date(word)
			if err == nil {
				return v.times.format(d)
			}
			v.count(err, r, i)
			return "NaT"
		case v.packing.isMissing(word):
			return "NaN"
		}
		return v.number(word)
	}, nil
}

// words reads the elements of a region as words.
func (v *Variable) words(ctx context.Context, r ndarray.Region) ([]byte, error) {
	if v.packing == nil {
		return nil, fmt.Errorf("%w: %v is no type of numbers", ndarray.ErrType, v.Array.DType())
	}
	if err := r.Check(v.Array.Shape()); err != nil {
		return nil, err
	}
	words := make([]byte, 8*r.NumElems())
	return words, v.readWords(ctx, words, r, 0)
}

// count counts an element without a date.
func (v *Variable) count(err error, r ndarray.Region, i int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case errors.Is(err, errNoTimes):
		v.undated.NaN++
	case errors.Is(err, errRange):
		v.undated.Outside++
	default:
		return
	}
	if v.undated.First == nil {
		v.undated.First = grid.Box(r).Index(int64(i))
	}
}

// Undated returns the counts of the elements that Formatter formats as "NaT" although no attribute
// marks them as missing.
func (v *Variable) Undated() Undated {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.undated
}

// Dates returns the dates of the elements of a region, in the calendar of the variable (section
// 4.4.1). A missing value, NaN and an infinity have the zero Date. It returns errors.ErrUnsupported
// if the values are no times, ErrValue for a number out of range, and the errors of Read.
func (v *Variable) Dates(ctx context.Context, r ndarray.Region) ([]Date, error) {
	if v.times == nil {
		if v.refused != nil {
			return nil, v.refused
		}
		return nil, fmt.Errorf("%w: dates of %s: units %q: got no time since a date", errors.ErrUnsupported, v.Path, v.Units)
	}
	words, err := v.words(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]Date, len(words)/8)
	for i := range out {
		word := binary.NativeEndian.Uint64(words[8*i:])
		d, err := v.date(word)
		if errors.Is(err, errRange) {
			return nil, v.outside(r, i, word)
		}
		out[i] = d
	}
	return out, nil
}

// Times is Dates for the type of package time. The result has the same date and time of day in UTC,
// or is the zero Time for the zero Date. It also returns ErrValue for a date that time.Time lacks,
// for example the 30th of February in the calendar 360_day.
func (v *Variable) Times(ctx context.Context, r ndarray.Region) ([]time.Time, error) {
	list, err := v.Dates(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]time.Time, len(list))
	for i, d := range list {
		if d == (Date{}) {
			continue
		}
		if d.Year <= 0 && !v.times.calendar.yearZero {
			return nil, v.noDate(r, i, d, "years before 1 have other numbers in time.Time")
		}
		t, ok := d.Time()
		if !ok {
			return nil, v.noDate(r, i, d, "time.Time does not have the date")
		}
		out[i] = t
	}
	return out, nil
}

// Time returns the same date and time of day in UTC. It returns false for a date that the proleptic
// Gregorian calendar does not have. Years are astronomical there: 0 is the year before 1.
func (d Date) Time() (time.Time, bool) {
	if _, reason := proleptic.dayNumber(d); reason != "" {
		return time.Time{}, false
	}
	s := int(d.Nanos / 1e9)
	return time.Date(int(d.Year), time.Month(d.Month), d.Day, s/3600, s/60%60, s%60, int(d.Nanos%1e9), time.UTC), true
}
