// Arrays of the values that stored elements mean.

package cf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the options of Unpack.
type Options struct {
	Times  bool // times since a date are dates: DateTime in microseconds or, in nanoseconds, of that unit
	Real   bool // all values that are not dates are 8-byte floats, with NaN for missing integers
	Strict bool // Real for integers of at most 4 bytes if attributes mark missing ones; a read of a missing one of 8 bytes fails
	Wide   bool // scaled integers have 8 bytes
}

// Unpack returns an array with the values of the elements of arr, which has the attributes attrs,
// and a description of the attributes that apply. It returns nil and "" if no attribute applies.
// Closing the result leaves arr open.
//
// Integers that are not scaled keep their type, unless o.Real is set. Integers that integers scale
// are exact integers of the type that the promotion of NumPy gives, as in netCDF4-python; where it
// gives floats, for example for u8 and i8, the values are floats. NumPy wraps a product or sum that
// its type lacks. Here, a read of it fails with ErrValue, and a Printer formats it; with o.Wide
// this begins beyond 64 bits. A missing integer reads as an integer that ndarray.MissingTeller
// finds; with o.Strict its read fails with ErrValue. Other values are 8-byte floats, with NaN for
// missing ones.
//
// A read of dates returns the same date and time of day in datetime64, and NaT for missing values
// and NaN. It fails with ErrValue for a number out of range and for a date that datetime64 does not
// have, for example the 30th of February in the calendar 360_day. A Printer formats all dates.
//
// Unpack returns ErrUnsupported for times that ParseTimes refuses.
func Unpack(arr *ndarray.Array, attrs ndarray.Attrs, o Options) (*ndarray.Array, string, error) {
	d := arr.DType()
	if !isNumber(d) {
		return nil, "", nil
	}
	u := &unpacked{arr: arr, packing: packingOf(attrs, d)}
	words := u.words
	var times *Times
	if o.Times {
		t, err := ParseTimes(Text(attrs, "units"), Text(attrs, "calendar"))
		if err != nil {
			return nil, "", err
		}
		if t != nil {
			times, words = t, append(words, t.String())
		}
	}
	if len(words) == 0 {
		return nil, "", nil
	}
	switch {
	case times != nil:
		u.to = ndarray.DType{Kind: ndarray.DateTime, Size: 8, Order: ndarray.DTypeOf[int64]().Order, Unit: ndarray.TimeUnit{Name: "us", Count: 1}}
		if times.Nanoseconds() {
			u.to.Unit.Name = "ns"
		}
		out, err := ndarray.New(&dates{unpacked: u, times: times})
		return out, strings.Join(words, "; "), err
	case o.Real || !u.integral() || o.Strict && u.whole.Size < 8 && u.loses():
		u.to = ndarray.DTypeOf[float64]()
		out, err := ndarray.New(u)
		return out, strings.Join(words, "; "), err
	}
	out, err := ndarray.New(u.integers(o))
	return out, strings.Join(words, "; "), err
}

// unpacked is the backend of an array whose elements are computed from those of another.
type unpacked struct {
	*packing
	arr *ndarray.Array
	to  ndarray.DType
}

// Undated counts numbers of times that are no dates, in a Printer.
type Undated struct {
	NaN     int64   // NaN and infinities that no attribute marks as missing
	Outside int64   // numbers out of range
	First   []int64 // index of the first element that is counted
}

// Printer is implemented by backends of Unpack whose elements are not printed by their type: dates
// of any calendar, and integers some of which are missing or out of the range of the type.
type Printer interface {
	// ReadTexts reads the elements of a region into dst, like ReadRegion. It returns a function
	// that returns the text of an element by its number, or "" for an element that is printed by
	// its type from dst. "NaT" is no date, "NaN" a missing integer, and digits are an integer that
	// its type lacks. The function uses dst.
	ReadTexts(ctx context.Context, dst []byte, r ndarray.Region) (func(i int) string, error)
	// Undated returns the counts of all elements that were printed.
	Undated() Undated
}

// Meta implements ndarray.Backend.
func (u *unpacked) Meta() ndarray.Meta {
	meta := u.arr.Meta()
	meta.ReadOnly, meta.DType, meta.Fill, meta.Compression = true, u.to, nil, nil
	return meta
}

// readWords reads the elements of a region into words, 8 bytes each.
func (u *unpacked) readWords(ctx context.Context, words []byte, r ndarray.Region, workers int) error {
	raw := make([]byte, len(words)/8*u.element.Size)
	if err := u.arr.ReadRegion(ctx, raw, r, workers); err != nil {
		return err
	}
	return ndarray.Convert(words, u.wide(), raw, u.element, true)
}

// ReadRegion implements ndarray.Backend.
func (u *unpacked) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if err := u.readWords(ctx, dst, r, workers); err != nil {
		return err
	}
	for at := 0; at < len(dst); at += 8 {
		binary.NativeEndian.PutUint64(dst[at:], math.Float64bits(u.value(binary.NativeEndian.Uint64(dst[at:]))))
	}
	return nil
}

// Uniform implements ndarray.UniformTeller: equal elements have equal values.
func (u *unpacked) Uniform(ctx context.Context, _ ndarray.Region) (func(r ndarray.Region) bool, error) {
	return u.arr.Uniform(ctx)
}

// ReadNulls implements ndarray.NullReader.
func (u *unpacked) ReadNulls(ctx context.Context, dst []bool, r ndarray.Region) error {
	return u.arr.ReadNulls(ctx, dst, r)
}

// Close implements ndarray.Backend.
func (u *unpacked) Close() error { return nil }

// dates is the backend of dates.
type dates struct {
	*unpacked
	times *Times

	mu      sync.Mutex
	undated Undated
}

// ReadRegion implements ndarray.Backend.
func (u *dates) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if err := u.readWords(ctx, dst, r, workers); err != nil {
		return err
	}
	for i := range len(dst) / 8 {
		b := dst[8*i:][:8]
		word := binary.NativeEndian.Uint64(b)
		out := uint64(1 << 63) // NaT
		if d, err := u.date(word); err == nil {
			ticks, reason := u.times.ticks(d)
			if reason != "" {
				return fmt.Errorf("%w: element %v is the date %s in the calendar %s: %s", ndarray.ErrValue, indexOf(r, i), u.times.Format(d), u.times.calendar.name, reason)
			}
			out = uint64(ticks)
		} else if errors.Is(err, errRange) {
			return fmt.Errorf("%w: element %v: %s %s: the date is out of range", ndarray.ErrValue, indexOf(r, i), u.number(word), u.times.text)
		}
		binary.NativeEndian.PutUint64(b, out)
	}
	return nil
}

// errMissing means that an element is a missing value.
var errMissing = errors.New("missing value")

// date returns the date of an element. Its errors are errMissing, errNoTimes and errRange.
func (u *dates) date(word uint64) (Date, error) {
	switch {
	case u.isMissing(word):
		return Date{}, errMissing
	case u.integral():
		v, ok := u.exact(word)
		if !ok {
			return Date{}, errRange
		}
		return u.times.ofInt(int64(v), u.whole.Kind == ndarray.Uint)
	}
	return u.times.ofFloat(u.scaledValue(word))
}

// number formats the value of an element.
func (u *dates) number(word uint64) string {
	if u.integral() {
		return u.exactBig(word).String()
	}
	b := binary.NativeEndian.AppendUint64(nil, math.Float64bits(u.scaledValue(word)))
	return ndarray.FormatElement(ndarray.DTypeOf[float64](), b)
}

// ReadTexts implements Printer.
func (u *dates) ReadTexts(ctx context.Context, dst []byte, r ndarray.Region) (func(i int) string, error) {
	if err := u.readWords(ctx, dst, r, 0); err != nil {
		return nil, err
	}
	return func(i int) string {
		d, err := u.date(binary.NativeEndian.Uint64(dst[8*i:]))
		if err == nil {
			return u.times.Format(d)
		}
		u.count(err, r, i)
		return "NaT"
	}, nil
}

// count counts an element without a date.
func (u *dates) count(err error, r ndarray.Region, i int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case errors.Is(err, errNoTimes):
		u.undated.NaN++
	case errors.Is(err, errRange):
		u.undated.Outside++
	default:
		return
	}
	if u.undated.First == nil {
		u.undated.First = indexOf(r, i)
	}
}

// Undated implements Printer.
func (u *dates) Undated() Undated {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.undated
}

// indexOf returns the index of element i of a region.
func indexOf(r ndarray.Region, i int) []int64 {
	index, rest := slices.Clone(r.Start), int64(i)
	for axis := len(index) - 1; axis >= 0; axis-- {
		index[axis] += rest % r.Shape[axis]
		rest /= r.Shape[axis]
	}
	return index
}
