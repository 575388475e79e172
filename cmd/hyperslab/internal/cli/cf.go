// Values of stored elements by the CF conventions: packed numbers, missing values, and times.

package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
)

// packing contains the attributes of an array that define the values of its elements (CF
// conventions, sections 2.5 and 8.1; NUG for _Unsigned). The value is element × scale + offset.
type packing struct {
	unsigned      bool // a signed element is read as unsigned
	scaled        bool
	scale, offset float64
	missing       []float64 // elements that mark missing values
	low, high     float64   // of valid elements; -Inf and +Inf without limits
	limitsOfValue bool      // the limits are for values, not for elements
	words         []string  // description of the attributes that apply
}

// packingOf returns nil if no attribute changes the values of the elements.
func packingOf(ctx context.Context, arr *ndarray.Array) (*packing, error) {
	d := arr.DType()
	if !drawable(d) || d.Kind == ndarray.Bool || d.Kind == ndarray.Enum {
		return nil, nil
	}
	attrs, err := attrsOf(ctx, arr)
	if err != nil {
		return nil, err
	}
	p := &packing{scale: 1, low: math.Inf(-1), high: math.Inf(1)}
	integer := d.Kind == ndarray.Int || d.Kind == ndarray.Uint
	if text, err := textAttr(ctx, arr, "_Unsigned"); err != nil {
		return nil, err
	} else if d.Kind == ndarray.Int && text == "true" {
		p.unsigned = true
		p.words = append(p.words, "elements read as unsigned (_Unsigned)")
	}
	scale, _ := numberAttr(attrs, "scale_factor")
	offset, _ := numberAttr(attrs, "add_offset")
	if len(scale) == 1 || len(offset) == 1 {
		p.scaled = true
		text := "element"
		if len(scale) == 1 {
			p.scale = scale[0]
			text += " × " + picture.Number(p.scale) + " (scale_factor)"
		}
		if len(offset) == 1 {
			p.offset = offset[0]
			text += " + " + picture.Number(p.offset) + " (add_offset)"
		}
		p.words = append([]string{text}, p.words...)
	}
	for _, name := range []string{"_FillValue", "missing_value"} {
		values, _ := numberAttr(attrs, name)
		var strs []string
		for _, v := range values {
			p.missing = append(p.missing, p.element(v, d))
			strs = append(strs, picture.Number(v))
		}
		if len(values) > 0 {
			p.words = append(p.words, name+" "+joined(strs)+" is missing")
		}
	}
	valid, kind := numberAttr(attrs, "valid_range")
	if len(valid) == 2 {
		p.low, p.high = valid[0], valid[1]
	} else {
		if v, k := numberAttr(attrs, "valid_min"); len(v) == 1 {
			p.low, kind = v[0], k
		}
		if v, k := numberAttr(attrs, "valid_max"); len(v) == 1 {
			p.high, kind = v[0], k
		}
	}
	if !math.IsInf(p.low, -1) || !math.IsInf(p.high, 1) {
		p.limitsOfValue = p.scaled && integer && kind == ndarray.Float
		if !p.limitsOfValue {
			p.low, p.high = p.element(p.low, d), p.element(p.high, d)
		}
		p.words = append(p.words, fmt.Sprintf("outside %s to %s is missing (valid range)", picture.Number(p.low), picture.Number(p.high)))
	}
	if len(p.words) == 0 {
		return nil, nil
	}
	return p, nil
}

// numberAttr returns the numbers of an attribute, or nil if it is not numeric.
func numberAttr(attrs ndarray.Attrs, name string) (values []float64, kind ndarray.Kind) {
	v, ok := attrs.Get(name)
	if !ok || v.Null || !drawable(v.DType) || v.DType.Kind == ndarray.Bool || v.DType.Kind == ndarray.Enum {
		return nil, 0
	}
	raw := make([]byte, 8*(len(v.Data)/v.DType.Size))
	if err := ndarray.Convert(raw, ndarray.DTypeOf[float64](), v.Data, v.DType.Native(), true); err != nil {
		return nil, 0
	}
	for at := 0; at < len(raw); at += 8 {
		values = append(values, math.Float64frombits(binary.NativeEndian.Uint64(raw[at:])))
	}
	return values, v.DType.Kind
}

// element returns an element of type d as a number.
func (p *packing) element(v float64, d ndarray.DType) float64 {
	if p.unsigned && v < 0 {
		return v + math.Ldexp(1, 8*d.Size)
	}
	return v
}

// missingValue is the NaN of NumPy.
var missingValue = math.Float64frombits(0x7ff8 << 48)

// value returns the value of an element, or NaN if it is missing.
func (p *packing) value(element float64) float64 {
	if slices.Contains(p.missing, element) {
		return missingValue
	}
	v := element
	if p.scaled {
		v = element*p.scale + p.offset
	}
	limited := element
	if p.limitsOfValue {
		limited = v
	}
	if limited < p.low || limited > p.high {
		return missingValue
	}
	return v
}

func (p *packing) String() string { return strings.Join(p.words, "; ") }

// unpack returns arr with the values of its elements as 8-byte floats. Closing it leaves arr open.
func (p *packing) unpack(arr *ndarray.Array) (*ndarray.Array, error) {
	return ndarray.New(&unpacked{arr: arr, to: ndarray.DTypeOf[float64](), value: func(element float64) uint64 {
		return math.Float64bits(p.value(p.element(element, arr.DType())))
	}})
}

// unpacked is the backend of an array whose elements are computed from those of another.
type unpacked struct {
	arr   *ndarray.Array
	to    ndarray.DType // an 8-byte type
	value func(element float64) uint64
}

// Meta implements ndarray.Backend.
func (u *unpacked) Meta() ndarray.Meta {
	meta := u.arr.Meta()
	meta.ReadOnly, meta.DType, meta.Fill, meta.Compression = true, u.to, nil, nil
	return meta
}

// ReadRegion implements ndarray.Backend.
func (u *unpacked) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	d := u.arr.DType()
	raw := make([]byte, len(dst)/8*d.Size)
	if err := u.arr.ReadRegion(ctx, raw, r, workers); err != nil {
		return err
	}
	if err := ndarray.Convert(dst, ndarray.DTypeOf[float64](), raw, d.Native(), true); err != nil {
		return err
	}
	for at := 0; at < len(dst); at += 8 {
		binary.NativeEndian.PutUint64(dst[at:], u.value(math.Float64frombits(binary.NativeEndian.Uint64(dst[at:]))))
	}
	return nil
}

// Uniform implements ndarray.UniformTeller: equal elements have equal values.
func (u *unpacked) Uniform(ctx context.Context, _ ndarray.Region) (func(r ndarray.Region) bool, error) {
	return u.arr.Uniform(ctx)
}

// Close implements ndarray.Backend.
func (u *unpacked) Close() error { return nil }

// cfUnits are the units of time with a fixed length, in microseconds (CF conventions, 4.4).
var cfUnits = map[string]float64{
	"days": 86400e6, "day": 86400e6, "d": 86400e6, "hours": 3600e6, "hour": 3600e6, "hr": 3600e6, "h": 3600e6,
	"minutes": 60e6, "minute": 60e6, "min": 60e6, "seconds": 1e6, "second": 1e6, "sec": 1e6, "s": 1e6,
	"milliseconds": 1e3, "millisecond": 1e3, "msec": 1e3, "ms": 1e3, "microseconds": 1, "microsecond": 1,
}

// cfLayouts are the forms of a reference time.
var cfLayouts = []string{
	"2006-1-2 15:4:5.999999999 -07:00", "2006-1-2 15:4:5.999999999 -0700", "2006-1-2 15:4:5.999999999", "2006-1-2 15:4", "2006-1-2",
	"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2T15:4:5.999999999", "2006-1-2T15:4",
}

// cfTime defines times as numbers, for example "days since 1970-01-01" in a calendar.
type cfTime struct {
	start  int64   // microseconds since 1970
	unit   float64 // in microseconds
	noLeap bool    // years of 365 days
}

// cfTimeOf returns nil if units is not a time since a date. It returns ErrUnsupported for a
// calendar whose dates differ from those of the Gregorian calendar.
func cfTimeOf(units, calendar string) (*cfTime, error) {
	unit, reference, ok := strings.Cut(units, " since ")
	size, known := cfUnits[strings.ToLower(strings.TrimSpace(unit))]
	if !ok || !known {
		return nil, nil
	}
	reference = strings.TrimSpace(reference)
	for _, zone := range []string{" UTC", " GMT", " Z"} {
		reference = strings.TrimSuffix(reference, zone)
	}
	t := &cfTime{unit: size}
	var start time.Time
	var err error
	for _, layout := range cfLayouts {
		if start, err = time.Parse(layout, reference); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: reference time %q", errors.ErrUnsupported, reference)
	}
	switch strings.ToLower(calendar) {
	case "", "standard", "gregorian":
		if start.Before(gregorian) {
			return nil, fmt.Errorf("%w: times since %s in the calendar %q, which is Julian before 1582-10-15", errors.ErrUnsupported, reference, calendar)
		}
	case "proleptic_gregorian":
	case "noleap", "365_day":
		t.noLeap = true
	default:
		return nil, fmt.Errorf("%w: calendar %q", errors.ErrUnsupported, calendar)
	}
	t.start = start.UnixMicro()
	return t, nil
}

var gregorian = time.Date(1582, time.October, 15, 0, 0, 0, 0, time.UTC)

// at returns the time of a number, as the bits of a DateTime in microseconds.
func (t *cfTime) at(v float64) uint64 {
	none := ndarray.NaT
	micros := math.Round(v * t.unit)
	if math.IsNaN(micros) || math.Abs(micros) > 1<<62 {
		return uint64(none)
	}
	if !t.noLeap {
		return uint64(t.start + int64(micros))
	}
	// Count days since the reference in years of 365 days, then convert the day to the Gregorian
	// calendar, which contains all of these days.
	const day = 86400e6
	start := time.UnixMicro(t.start).UTC()
	days := int64(start.Year())*365 + int64(noLeapDay(start))
	rest := start.Sub(time.Date(start.Year(), start.Month(), start.Day(), 0, 0, 0, 0, time.UTC)).Microseconds() + int64(micros)
	days += floorDiv(rest, day)
	rest -= floorDiv(rest, day) * day
	year := floorDiv(days, 365)
	date := time.Date(2001, time.January, 1+int(days-year*365), 0, 0, 0, 0, time.UTC) // 2001 has 365 days
	return uint64(time.Date(int(year), date.Month(), date.Day(), 0, 0, 0, 0, time.UTC).UnixMicro() + rest)
}

// noLeapDay returns the day of the year, counted from 0, in a calendar where February has 28 days.
func noLeapDay(t time.Time) int {
	return time.Date(2001, t.Month(), min(t.Day(), 28+3*boolInt(t.Month() != time.February)), 0, 0, 0, 0, time.UTC).YearDay() - 1
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// meant returns arr with the values of its elements (times as DateTime if times is set), and a
// description of the conversion. It returns arr itself and "" if the elements are the values.
// Closing the result leaves arr open, unless it is arr.
func meant(ctx context.Context, arr *ndarray.Array, times bool) (*ndarray.Array, string, error) {
	p, err := packingOf(ctx, arr)
	if err != nil {
		return nil, "", err
	}
	var t *cfTime
	d := arr.DType()
	if times && drawable(d) && d.Kind != ndarray.Bool && d.Kind != ndarray.Enum {
		units, err := textAttr(ctx, arr, "units")
		if err != nil {
			return nil, "", err
		}
		calendar, err := textAttr(ctx, arr, "calendar")
		if err != nil {
			return nil, "", err
		}
		if t, err = cfTimeOf(units, calendar); err != nil {
			return nil, "", err
		}
		if t != nil {
			text := "times: " + units
			if calendar != "" {
				text += ", calendar " + calendar
			}
			if p == nil {
				p = &packing{scale: 1, low: math.Inf(-1), high: math.Inf(1)}
			}
			p.words = append(p.words, text)
		}
	}
	if p == nil {
		return arr, "", nil
	}
	if t == nil {
		out, err := p.unpack(arr)
		return out, p.String(), err
	}
	out, err := ndarray.New(&unpacked{
		arr: arr, to: ndarray.DType{Kind: ndarray.DateTime, Size: 8, Order: ndarray.DTypeOf[float64]().Order, Unit: ndarray.TimeUnit{Name: "us", Count: 1}},
		value: func(element float64) uint64 { return t.at(p.value(p.element(element, d))) },
	})
	return out, p.String(), err
}
