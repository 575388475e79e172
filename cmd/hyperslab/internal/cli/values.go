// Elements and attribute values in documents and on screen. ndarray writes the
// digits; here they become JSON.

package cli

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/ndarray"
)

// elementJSON is what stands for one element in a document: true or false, a
// number, [real, imaginary], a string, or {"base64": …} for bytes that are not
// text. b is in native byte order.
func elementJSON(d ndarray.DType, b []byte) any {
	switch d.Kind {
	case ndarray.Bool:
		return b[0] != 0
	case ndarray.Int, ndarray.Uint, ndarray.Float:
		return numberJSON(ndarray.FormatElement(d, b))
	case ndarray.Complex:
		half := d.Size / 2
		part := ndarray.DType{Kind: ndarray.Float, Size: half, Order: d.Order}
		return []any{elementJSON(part, b[:half]), elementJSON(part, b[half:])}
	case ndarray.Bytes, ndarray.Unicode:
		quoted := ndarray.FormatElement(d, b)
		text, err := strconv.Unquote(quoted)
		if err != nil { // a code point that no text has; the escape says which
			return strings.Trim(quoted, `"`)
		}
		if utf8.ValidString(text) {
			return text
		}
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(b)}
}

// numberJSON turns the digits of a number into a JSON number, or into a string
// where JSON or its readers have no such number: NaN and the infinities, and
// integers beyond ±2^53.
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

// valueJSON is a value as nested arrays, a scalar as itself, null as null.
func valueJSON(v ndarray.Value) any {
	if v.Null {
		return nil
	}
	next := 0
	var nest func(shape []int64) any
	nest = func(shape []int64) any {
		if len(shape) > 0 {
			list := make([]any, shape[0])
			for i := range list {
				list[i] = nest(shape[1:])
			}
			return list
		}
		i := next
		next++
		if v.DType.Kind == ndarray.String {
			return v.Strings[i]
		}
		return elementJSON(v.DType, v.Data[i*v.DType.Size:][:v.DType.Size])
	}
	return nest(v.Shape)
}

// shorten cuts a text to so many characters.
func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// indexText writes the place of an element: "[3, 0, 17]", "[]" in a scalar.
func indexText(index []int64) string {
	parts := make([]string, len(index))
	for i, n := range index {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
