// Arrays of the values that stored elements mean.

package cf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ValueOptions are the options of Values. nil means the zero value.
type ValueOptions struct {
	Dates  bool // times are dates: DateTime in microseconds or, for times in nanoseconds, of that unit
	Float  bool // numbers are 8-byte floats, with NaN for missing integers
	Strict bool // Float for integers of at most 4 bytes if attributes mark missing ones; a read of a missing one of 8 bytes fails
	Wide   bool // scaled integers have 8 bytes
}

// Values returns an array of the values of the elements, by the attributes scale_factor and
// add_offset (section 8.1), _FillValue, missing_value, valid_min, valid_max and valid_range (2.5.1)
// and _Unsigned (NUG, appendix B; "true" in any case). Missing values are null elements, which
// Array.ReadNulls marks, Meta.Nullable reports, and reductions do not count. Closing the result
// leaves v open.
//
// The types are those of netCDF4-python. Integers that are not scaled, or that are scaled by 1 with
// the offset 0, keep their type. Integers
// that integers scale are exact integers of the type that the promotion of NumPy gives; where it
// gives floats, for example for u8 and i8, the values are floats. NumPy wraps a product or sum that
// its type lacks. Here, a read of it fails with ErrValue; with o.Wide this begins beyond 64 bits.
// Other values are floats of 4 or 8 bytes. A missing float reads as NaN, a missing integer as an
// integer that no element that is not missing has. Elements that are no numbers are the stored
// ones.
//
// In netCDF-4 files, and in arrays with that fill value, the default fill value of netCDF is
// missing if there is no _FillValue, except for elements of 1 byte without a fill value.
//
// With o.Dates a read returns the same date and time of day in datetime64, and NaT for missing
// values and NaN. It fails with ErrValue for a number out of range and for a date that datetime64
// does not have, for example the 30th of February in the calendar 360_day. Formatter and Dates have
// these. Values then returns errors.ErrUnsupported if the reference time does not exist in the
// calendar.
func (v *Variable) Values(o *ValueOptions) (*ndarray.Array, error) {
	if o == nil {
		o = &ValueOptions{}
	}
	if v.packing == nil {
		return ndarray.View(v.Array, ndarray.Select(ndarray.Ellipsis()))
	}
	if o.Dates && v.refused != nil {
		return nil, v.refused
	}
	u := &unpacked{packing: v.packing, v: v}
	var b valueBackend
	switch {
	case o.Dates && v.times != nil:
		u.to = ndarray.DType{Kind: ndarray.DateTime, Size: 8, Order: ndarray.DTypeOf[int64]().Order, Unit: ndarray.TimeUnit{Name: "us", Count: 1}}
		if v.times.nanoseconds() {
			u.to.Unit.Name = "ns"
		}
		b = &dates{u}
	case o.Float || o.Strict && u.integral() && u.whole.Size < 8 && u.loses():
		u.to = ndarray.DTypeOf[float64]()
		b = &floats{u}
	case !u.integral():
		u.to = u.float
		b = &floats{u}
	case !u.scaled:
		u.to = u.whole
		b = &integers{u, o.Strict}
	default:
		if u.to = u.whole; o.Wide {
			u.to.Size, u.to.Order = 8, ndarray.NativeOrder
		}
		b = &scaledIntegers{u, o.Strict, u.marker(u.to)}
	}
	if v.Array.Meta().Nullable {
		b = nullable{b}
	}
	return ndarray.New(b)
}

// Of returns the Variable of an array that Values returned, or nil for another array.
func Of(a *ndarray.Array) *Variable {
	if b, ok := ndarray.As[valueBackend](a.Backend()); ok {
		return b.variable()
	}
	return nil
}

// valueBackend is the backend of an array of values.
type valueBackend interface {
	ndarray.Backend
	ndarray.NullReader
	ndarray.UniformTeller
	variable() *Variable
}

// nullable hides DropMissing for an array with null elements, which have marks of their own.
type nullable struct{ valueBackend }

// unpacked is the common part of the backends.
type unpacked struct {
	*packing
	v  *Variable
	to ndarray.DType
}

func (u *unpacked) variable() *Variable { return u.v }

// Meta implements ndarray.Backend.
func (u *unpacked) Meta() ndarray.Meta {
	meta := u.v.Array.Meta()
	meta.Nullable = meta.Nullable || u.loses()
	meta.ReadOnly, meta.DType, meta.Fill, meta.Compression = true, u.to, nil, nil
	return meta
}

// readWords reads the elements of a region into words, 8 bytes each.
func (v *Variable) readWords(ctx context.Context, words []byte, r ndarray.Region, workers int) error {
	p := v.packing
	raw := words
	if p.element.Size != 8 {
		raw = make([]byte, len(words)/8*p.element.Size)
	}
	if err := v.Array.ReadRegion(ctx, raw, r, workers); err != nil {
		return err
	}
	if p.element.Size == 8 { // an int64, a uint64 or a float64
		return nil
	}
	return ndarray.Convert(words, p.wide(), raw, p.element, true)
}

// Uniform implements ndarray.UniformTeller: equal elements have equal values.
func (u *unpacked) Uniform(ctx context.Context, _ ndarray.Region) (func(r ndarray.Region) bool, error) {
	return u.v.Array.Uniform(ctx)
}

// ReadNulls implements ndarray.NullReader.
func (u *unpacked) ReadNulls(ctx context.Context, dst []bool, r ndarray.Region) error {
	return u.v.missing(ctx, dst, r)
}

// missing sets the marks of the missing values of a region.
func (v *Variable) missing(ctx context.Context, dst []bool, r ndarray.Region) error {
	if err := v.Array.ReadNulls(ctx, dst, r); err != nil || !v.packing.loses() {
		return err
	}
	words := make([]byte, 8*len(dst))
	if err := v.readWords(ctx, words, r, 0); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = dst[i] || v.packing.isMissing(binary.NativeEndian.Uint64(words[8*i:]))
	}
	return nil
}

// Close implements ndarray.Backend.
func (u *unpacked) Close() error { return nil }

// floats is the backend of floats.
type floats struct{ *unpacked }

// ReadRegion implements ndarray.Backend.
func (x *floats) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if !x.scaled && x.to.Equal(x.element) {
		return x.readStored(ctx, dst, r, workers)
	}
	words := dst
	if x.to.Size != 8 {
		words = make([]byte, 8*(len(dst)/x.to.Size))
	}
	if err := x.v.readWords(ctx, words, r, workers); err != nil {
		return err
	}
	for i := range len(words) / 8 {
		v := x.value(binary.NativeEndian.Uint64(words[8*i:]))
		if x.to.Size == 8 {
			binary.NativeEndian.PutUint64(dst[8*i:], math.Float64bits(v))
		} else {
			binary.NativeEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		}
	}
	return nil
}

// readStored reads elements that are the values, with NaN for missing ones.
func (x *floats) readStored(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if err := x.v.Array.ReadRegion(ctx, dst, r, workers); err != nil || !x.loses() {
		return err
	}
	words := make([]byte, 8*(len(dst)/x.to.Size))
	if err := ndarray.Convert(words, x.wide(), dst, x.element, true); err != nil {
		return err
	}
	nan := make([]byte, x.to.Size)
	if err := ndarray.Convert(nan, x.to, binary.NativeEndian.AppendUint64(nil, math.Float64bits(missingValue)), x.wide(), true); err != nil {
		return err
	}
	for i := range len(words) / 8 {
		if x.isMissing(binary.NativeEndian.Uint64(words[8*i:])) {
			copy(dst[i*len(nan):], nan)
		}
	}
	return nil
}

// DropMissing implements ndarray.MissingTeller: missing values are NaN.
func (x *floats) DropMissing(b []byte) []byte { return b }

// integers is the backend of integers that keep their values, some of which are missing.
type integers struct {
	*unpacked
	strict bool
}

// ReadRegion implements ndarray.Backend.
func (x *integers) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if err := x.v.Array.ReadRegion(ctx, dst, r, workers); err != nil || !x.strict {
		return err
	}
	for i := range len(dst) / x.to.Size {
		if word := load(x.to, dst[i*x.to.Size:]); x.isMissing(word) {
			return x.lacks(r, i, word)
		}
	}
	return nil
}

// lacks returns the error of an integer that is missing.
func (u *unpacked) lacks(r ndarray.Region, i int, word uint64) error {
	return fmt.Errorf("%w: element %v is missing (%v), which %v cannot represent", ndarray.ErrValue, grid.Box(r).Index(int64(i)), u.big(word), u.to)
}

// DropMissing implements ndarray.MissingTeller.
func (x *integers) DropMissing(b []byte) []byte {
	return drop(b, x.to.Size, func(b []byte) bool { return x.isMissing(load(x.to, b)) })
}

// drop removes the elements of b that are missing.
func drop(b []byte, size int, missing func(b []byte) bool) []byte {
	kept := 0
	for at := 0; at < len(b); at += size {
		if !missing(b[at : at+size]) {
			copy(b[kept:kept+size], b[at:at+size])
			kept += size
		}
	}
	return b[:kept]
}

// scaledIntegers is the backend of integers that integers scale.
type scaledIntegers struct {
	*unpacked
	strict bool
	marker []byte // missing elements
}

// ReadRegion implements ndarray.Backend.
func (x *scaledIntegers) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	words := make([]byte, 8*(len(dst)/x.to.Size))
	if err := x.v.readWords(ctx, words, r, workers); err != nil {
		return err
	}
	for i := range len(words) / 8 {
		word, b := binary.NativeEndian.Uint64(words[8*i:]), dst[i*x.to.Size:]
		switch missing := x.isMissing(word); {
		case missing && x.strict:
			return x.lacks(r, i, word)
		case missing:
			copy(b, x.marker)
		case !x.put(b, word):
			return fmt.Errorf("%w: element %v is %v, which %v cannot represent", ndarray.ErrValue, grid.Box(r).Index(int64(i)), x.exactBig(word), x.to)
		}
	}
	return nil
}

// put stores the value of an element. It returns false if the type lacks the value.
func (x *scaledIntegers) put(b []byte, word uint64) bool {
	v, ok := x.exact(word)
	return store(x.to, b, v) && ok
}

// DropMissing implements ndarray.MissingTeller.
func (x *scaledIntegers) DropMissing(b []byte) []byte {
	return drop(b, x.to.Size, func(b []byte) bool { return slices.Equal(b, x.marker) })
}

// dates is the backend of dates.
type dates struct{ *unpacked }

// ReadRegion implements ndarray.Backend.
func (x *dates) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if err := x.v.readWords(ctx, dst, r, workers); err != nil {
		return err
	}
	for i := range len(dst) / 8 {
		b := dst[8*i:][:8]
		word := binary.NativeEndian.Uint64(b)
		out := uint64(1 << 63) // NaT
		d, err := x.v.date(word)
		switch {
		case err == nil:
			ticks, reason := x.v.times.ticks(d)
			if reason != "" {
				return x.v.noDate(r, i, d, reason)
			}
			out = uint64(ticks)
		case errors.Is(err, errRange):
			return x.v.outside(r, i, word)
		}
		binary.NativeEndian.PutUint64(b, out)
	}
	return nil
}
