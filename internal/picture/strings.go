// Elements as text for people.

package picture

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/elements/printable"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// noValue is the text of a missing value.
const noValue = "—"

// Strings returns the elements of a region as text, in row-major order: times as dates, unpacked
// numbers with the meanings of flags, enumerations by name, structures with the names of their
// fields, and strings without quotes. With raw, elements are the stored ones.
func Strings(ctx context.Context, v *cf.Variable, r ndarray.Region, raw bool) ([]string, error) {
	if !raw {
		out, err := meantStrings(ctx, v, r)
		if !errors.Is(err, ndarray.ErrType) {
			return out, err
		}
	}
	d := v.Array.DType()
	elements, err := Elements(ctx, v.Array, r)
	if err != nil {
		return nil, err
	}
	var nulls []bool
	if d.Kind != ndarray.Struct && v.Array.Meta().Nullable {
		nulls = make([]bool, len(elements))
		if err := v.Array.ReadNulls(ctx, nulls, r); err != nil {
			return nil, err
		}
	}
	out := make([]string, len(elements))
	for i, b := range elements {
		if out[i] = Text(d, b); nulls != nil && nulls[i] {
			out[i] = "null"
		}
	}
	return out, nil
}

// meantStrings is Strings for numbers. It returns ErrType for others.
func meantStrings(ctx context.Context, v *cf.Variable, r ndarray.Region) ([]string, error) {
	format, err := v.Formatter(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]string, r.NumElems())
	missing, err := missingOf(ctx, v, r)
	if err != nil {
		return nil, err
	}
	if v.IsTime() {
		dates, err := v.Dates(ctx, r)
		if err != nil && !errors.Is(err, ndarray.ErrValue) {
			return nil, err
		}
		part := toDay
		for _, d := range dates {
			part = max(part, precision(d))
		}
		for i := range out {
			if out[i] = format(i); err == nil && dates[i] != (cf.Date{}) {
				out[i] = dateTo(dates[i], part)
			}
		}
	} else {
		for i := range out {
			out[i] = unpackedText(v, format(i))
		}
	}
	var stored [][]byte
	if v.Flags != nil {
		if stored, err = Elements(ctx, v.Array, r); err != nil {
			return nil, err
		}
	}
	for i := range out {
		switch {
		case missing != nil && missing[i]:
			out[i] = noValue
		case stored != nil:
			if words := v.Meanings(stored[i]); words != nil {
				out[i] += " (" + printable.Text(strings.Join(words, ", ")) + ")"
			}
		}
	}
	return out, nil
}

// unpackedText rounds the text of a float that is an unpacked integer: 0.01 × 1 is not exact.
func unpackedText(v *cf.Variable, text string) string {
	if k := v.Array.DType().Kind; k != ndarray.Int && k != ndarray.Uint || !strings.ContainsAny(text, ".e") {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(rounded(f), 'g', -1, 64)
}

// unpackedDigits is the number of significant digits of unpacked integers of at most 4 bytes.
const unpackedDigits = 10

// rounded rounds a float to unpackedDigits significant digits.
func rounded(f float64) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', unpackedDigits, 64), 64) // its own text
	return out
}

// missingOf returns the marks of the missing values of a region, or nil if no value can be missing.
func missingOf(ctx context.Context, v *cf.Variable, r ndarray.Region) (marks []bool, err error) {
	values, err := v.Values(nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, values.Close()) }()
	if !values.Meta().Nullable {
		return nil, nil
	}
	marks = make([]bool, r.NumElems())
	return marks, values.ReadNulls(ctx, marks, r)
}

// Elements reads the elements of a region, in native byte order. Those of variable size are the
// bytes of ReadStrings.
func Elements(ctx context.Context, a *ndarray.Array, r ndarray.Region) ([][]byte, error) {
	out := make([][]byte, r.NumElems())
	size := a.DType().Size
	if size == 0 {
		list := make([]string, len(out))
		err := a.ReadStrings(ctx, list, r)
		for i, s := range list {
			out[i] = []byte(s)
		}
		return out, err
	}
	raw := make([]byte, len(out)*size)
	if err := a.Read(ctx, raw, r); err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = raw[i*size:][:size]
	}
	return out, nil
}

// Text formats an element. A string has no quotes, and escapes in place of control characters.
func Text(d ndarray.DType, b []byte) string {
	text := ndarray.FormatElement(d, b)
	switch d.Kind {
	case ndarray.String, ndarray.Bytes, ndarray.Unicode, ndarray.Reference:
		if s, err := strconv.Unquote(text); err == nil {
			text = s
		}
	}
	return printable.Text(text)
}

// elementText returns element i of a coordinate as text, with units. It returns "" for an element
// that is missing.
func elementText(ctx context.Context, v *cf.Variable, i int64) (string, error) {
	rank := len(v.Array.Shape())
	if rank > 1 {
		return "", nil
	}
	r := ndarray.Region{Start: make([]int64, rank), Shape: slices.Repeat([]int64{1}, rank)}
	if rank > 0 {
		r.Start[0] = i
	}
	out, err := Strings(ctx, v, r, false)
	switch {
	case err != nil || out[0] == noValue:
		return "", err
	case v.IsTime():
		return out[0], nil
	}
	return strings.TrimSpace(out[0] + " " + printable.Text(v.Units)), nil
}
