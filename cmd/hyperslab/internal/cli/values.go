// Elements and attribute values as JSON and as text. ndarray formats the digits.

package cli

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/ndarray"
)

// elementJSON returns the JSON value of one element: true or false, a number, [real, imaginary], a
// string, the name of an enumeration's value, a time in ISO 8601, an object with the fields of a
// structure, nested arrays, the path of a reference or null, or {"base64": …} for bytes that are
// not text. b is in native byte order.
func elementJSON(d ndarray.DType, b []byte) any {
	switch d.Kind {
	case ndarray.Bool:
		return b[0] != 0
	case ndarray.Int, ndarray.Uint, ndarray.Float, ndarray.BFloat:
		d.Tag = "" // bit fields are numbers too
		return numberJSON(ndarray.FormatElement(d, b))
	case ndarray.Complex:
		half := d.Size / 2
		part := ndarray.DType{Kind: ndarray.Float, Size: half, Order: d.Order}
		return []any{elementJSON(part, b[:half]), elementJSON(part, b[half:])}
	case ndarray.DateTime, ndarray.TimeDelta, ndarray.Enum:
		return ndarray.FormatElement(d, b)
	case ndarray.Struct, ndarray.SubArray, ndarray.VLen:
		parts, err := d.Split(b)
		if err != nil {
			break
		}
		if d.Kind == ndarray.Struct {
			fields := make(jsonObject, len(d.Fields))
			for i, f := range d.Fields {
				fields[i] = jsonMember{f.Name, elementJSON(f.Type, parts[i])}
			}
			return fields
		}
		shape := d.Dims
		if d.Kind == ndarray.VLen {
			shape = []int64{int64(len(parts))}
		}
		return nest(shape, func(i int) any { return elementJSON(*d.Base, parts[i]) })
	case ndarray.Reference:
		if len(b) == 0 {
			return nil
		}
		fallthrough
	case ndarray.String:
		if utf8.Valid(b) {
			return string(b)
		}
	case ndarray.Bytes, ndarray.Unicode:
		quoted := ndarray.FormatElement(d, b)
		text, err := strconv.Unquote(quoted)
		if err != nil { // an invalid code point, which the escape shows
			return strings.Trim(quoted, `"`)
		}
		if utf8.ValidString(text) {
			return text
		}
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(b)}
}

// numberJSON converts the digits of a number to a JSON number. NaN, the infinities and integers
// beyond ±2^53 become strings, because JSON or its readers do not support these numbers.
func numberJSON(digits string) any {
	switch {
	case strings.HasPrefix(digits, "NaN"):
		return "NaN"
	case digits == "+Inf":
		return "Infinity"
	case digits == "-Inf":
		return "-Infinity"
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return jsonInt(n)
	}
	if _, err := strconv.ParseUint(digits, 10, 64); err == nil {
		return digits // beyond the largest int64
	}
	return json.Number(digits)
}

// valueJSON returns a value as nested arrays, a scalar as itself, null as nil.
func valueJSON(v ndarray.Value) any {
	if v.Null {
		return nil
	}
	return nest(v.Shape, func(i int) any {
		if v.DType.Size == 0 {
			return elementJSON(v.DType, []byte(v.Strings[i]))
		}
		return elementJSON(v.DType, v.Data[i*v.DType.Size:][:v.DType.Size])
	})
}

// nest arranges elements, numbered in row-major order, as nested arrays.
func nest(shape []int64, element func(i int) any) any {
	next := 0
	var level func(shape []int64) any
	level = func(shape []int64) any {
		if len(shape) == 0 {
			next++
			return element(next - 1)
		}
		list := make([]any, shape[0])
		for i := range list {
			list[i] = level(shape[1:])
		}
		return list
	}
	return level(shape)
}

// jsonObject is an object whose members keep their order.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o jsonObject) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, compactJSON(m.name)...), ':'), compactJSON(m.value)...)
	}
	return append(out, '}'), nil
}

// shorten truncates a text to most characters.
func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// indexText formats the index of an element: "[3, 0, 17]", or "[]" for a scalar.
func indexText(index []int64) string {
	parts := make([]string, len(index))
	for i, n := range index {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
