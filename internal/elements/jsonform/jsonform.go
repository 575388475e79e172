// Forms of elements, and the elements of each kind.

package jsonform

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Form selects the JSON form of values that have several forms.
type Form int

// The forms.
const (
	// Document is the form of docs/json.md. Integers beyond ±2^53 and floats without a finite value
	// are strings, the value of an enumeration is its name, a structure is an object, and bytes
	// that are not text are {"base64": …}.
	Document Form = iota
	// Literal is Document with every integer as a number, with a fraction or an exponent in every
	// float, with the bits of a NaN that is not the default one, and with times as their number of
	// units.
	Literal
	// H5grove is the form of h5grove: floats without a finite value are null, the value of an
	// enumeration is its number, a structure is a list, and bytes that are not text are
	// "base64:…".
	H5grove
	// Python is the form of json.dumps for what h5py reads: every float has 8 bytes and a fraction
	// or an exponent, NaN and the infinities are not quoted, integers are numbers, and the value of
	// an enumeration is its number. Otherwise it is Document.
	Python
)

// maxExact is the largest integer up to which every integer is a float64, so that every JSON reader
// parses it correctly.
const maxExact = 1 << 53

// Append appends one element of d: d.Size bytes in native byte order, or the bytes of a string that
// ReadStrings returns.
func (f Form) Append(out []byte, d ndarray.DType, b []byte) []byte {
	switch d.Kind {
	case ndarray.Bool:
		return strconv.AppendBool(out, b[0] != 0)
	case ndarray.Int, ndarray.Uint:
		d.Tag = "" // bit fields are numbers too
		return f.AppendInt(out, ndarray.FormatElement(d, b))
	case ndarray.Float, ndarray.BFloat:
		return f.appendFloat(out, d, b)
	case ndarray.Complex:
		half := d.Size / 2
		part := ndarray.DType{Kind: ndarray.Float, Size: half, Order: d.Order}
		return AppendList(out, 2, func(out []byte, i int) []byte { return f.Append(out, part, b[i*half:][:half]) })
	case ndarray.Enum:
		if f == H5grove || f == Python {
			return f.Append(out, *d.Base, b)
		}
		return AppendString(out, ndarray.FormatElement(d, b))
	case ndarray.DateTime, ndarray.TimeDelta:
		if text := ndarray.FormatElement(d, b); f == Literal && text != "NaT" {
			return append(out, ndarray.FormatElement(ndarray.DTypeOf[int64](), b)...)
		}
		return AppendString(out, ndarray.FormatElement(d, b))
	case ndarray.Bytes:
		text, err := strconv.Unquote(ndarray.FormatElement(d, b))
		if err != nil { // not for a quoted string
			return f.AppendBytes(out, b)
		}
		return f.AppendText(out, text)
	case ndarray.Unicode:
		return f.appendUnicode(out, b)
	case ndarray.Reference:
		if len(b) == 0 {
			return append(out, "null"...)
		}
		return f.AppendText(out, string(b))
	case ndarray.String:
		return f.AppendText(out, string(b))
	case ndarray.Struct, ndarray.SubArray, ndarray.VLen:
		if parts, err := d.Split(b); err == nil {
			return f.appendParts(out, d, parts)
		}
	}
	return f.AppendBytes(out, b)
}

// appendParts appends the parts of a structure, sub-array or sequence.
func (f Form) appendParts(out []byte, d ndarray.DType, parts [][]byte) []byte {
	if d.Kind != ndarray.Struct {
		shape := d.Dims
		if d.Kind == ndarray.VLen {
			shape = []int64{int64(len(parts))}
		}
		return AppendNested(out, shape, func(out []byte, i int) []byte { return f.Append(out, *d.Base, parts[i]) })
	}
	return f.appendFields(out, d, parts, nil)
}

// AppendRecord appends a structure whose fields are null if their mark is set.
func (f Form) AppendRecord(out []byte, d ndarray.DType, b []byte, nulls []bool) []byte {
	parts, err := d.Split(b)
	if err != nil {
		return f.AppendBytes(out, b)
	}
	return f.appendFields(out, d, parts, nulls)
}

// appendFields appends the fields of a structure. nulls is nil, or has a mark for each field.
func (f Form) appendFields(out []byte, d ndarray.DType, parts [][]byte, nulls []bool) []byte {
	field := func(out []byte, i int) []byte {
		if nulls != nil && nulls[i] {
			return append(out, "null"...)
		}
		return f.Append(out, d.Fields[i].Type, parts[i])
	}
	if f == H5grove {
		return AppendList(out, len(parts), field)
	}
	out = append(out, '{')
	for i := range d.Fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = field(append(AppendString(out, Name(d.Fields[i].Name)), ':'), i)
	}
	return append(out, '}')
}

// appendFloat appends a float of any size.
func (f Form) appendFloat(out []byte, d ndarray.DType, b []byte) []byte {
	if f == Python {
		d, b = asDouble(d, b)
	}
	digits := ndarray.FormatElement(d, b)
	if f == H5grove && d.Size > 8 && !strings.HasPrefix(digits, "NaN") { // h5grove rounds to 8 bytes
		x, _ := strconv.ParseFloat(digits, 64)
		digits = strconv.FormatFloat(x, 'g', -1, 64)
	}
	special := ""
	switch {
	case strings.HasPrefix(digits, "NaN"):
		if special = "NaN"; f == Literal {
			special = digits
		}
	case digits == "+Inf":
		special = "Infinity"
	case digits == "-Inf":
		special = "-Infinity"
	}
	switch {
	case special != "" && f == H5grove:
		return append(out, "null"...)
	case special != "" && f == Python:
		return append(out, special...)
	case special != "":
		return AppendString(out, special)
	}
	out = append(out, digits...)
	if digits == "-0" || f != Document && !strings.ContainsAny(digits, ".e") {
		out = append(out, ".0"...) // readers take -0 for an integer without a sign
	}
	return out
}

// asDouble converts a float of at most 8 bytes to one of 8 bytes, and returns others unchanged.
func asDouble(d ndarray.DType, b []byte) (ndarray.DType, []byte) {
	double := make([]byte, 8)
	if d.Size > 8 || ndarray.Convert(double, ndarray.DTypeOf[float64](), b, d.Native(), true) != nil {
		return d, b
	}
	return ndarray.DTypeOf[float64](), double
}

// AppendInt appends the decimal digits of an integer. In a Document it is a string beyond ±2^53.
func (f Form) AppendInt(out []byte, digits string) []byte {
	if n, err := strconv.ParseInt(digits, 10, 64); f == Document && (err != nil || n > maxExact || n < -maxExact) {
		return AppendString(out, digits)
	}
	return append(out, digits...)
}

// escape begins a string of H5grove that contains bytes in base64.
const escape = "base64:"

// AppendText appends a string, or its bytes if it is not UTF-8. In the form H5grove it also appends
// the bytes of a string that begins as such bytes do.
func (f Form) AppendText(out []byte, s string) []byte {
	if !utf8.ValidString(s) || f == H5grove && strings.HasPrefix(s, escape) {
		return f.appendBase64(out, []byte(s))
	}
	return AppendString(out, s)
}

// AppendBytes appends bytes without a meaning. The form H5grove has a string for bytes in UTF-8.
func (f Form) AppendBytes(out, b []byte) []byte {
	if f == H5grove {
		return f.AppendText(out, string(b))
	}
	return f.appendBase64(out, b)
}

func (f Form) appendBase64(out, b []byte) []byte {
	text := base64.StdEncoding.EncodeToString(b)
	if f == H5grove {
		return AppendString(out, escape+text)
	}
	return append(AppendString(append(out, `{"base64":`...), text), '}')
}

// appendUnicode appends a string of four-byte characters. A string with an invalid code point is
// appended as its bytes, in little-endian order and without padding.
func (f Form) appendUnicode(out, b []byte) []byte {
	var runes []rune
	var stored []byte
	valid := true
	for end := len(bytes.TrimRight(b, "\x00")); len(stored) < end; b = b[4:] {
		c := binary.NativeEndian.Uint32(b)
		stored = binary.LittleEndian.AppendUint32(stored, c)
		runes = append(runes, rune(c))
		valid = valid && c <= utf8.MaxRune && utf8.ValidRune(rune(c))
	}
	if !valid {
		return f.appendBase64(out, stored)
	}
	return f.AppendText(out, string(runes))
}

// AppendValue appends a value as nested lists, a scalar as itself, and a null value as null.
func (f Form) AppendValue(out []byte, v ndarray.Value) []byte {
	if v.Null {
		return append(out, "null"...)
	}
	return AppendNested(out, v.Shape, func(out []byte, i int) []byte {
		if v.DType.Size == 0 {
			return f.Append(out, v.DType, []byte(v.Strings[i]))
		}
		return f.Append(out, v.DType, v.Data[i*v.DType.Size:][:v.DType.Size])
	})
}

// Plain returns the text of an element for a cell of CSV: that of a Document, without the quotes of
// a string.
func Plain(d ndarray.DType, b []byte) string {
	if d.Kind == ndarray.String && utf8.Valid(b) {
		return string(b)
	}
	out := Document.Append(nil, d, b)
	var text string
	if out[0] == '"' && json.Unmarshal(out, &text) == nil {
		return text
	}
	return string(out)
}

// AppendString appends a string in quotes. It must be UTF-8.
func AppendString(out []byte, s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string cannot fail
		return append(out, "null"...)
	}
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// AppendList appends a list of n items.
func AppendList(out []byte, n int, item func(out []byte, i int) []byte) []byte {
	out = append(out, '[')
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = item(out, i)
	}
	return append(out, ']')
}

// AppendNested appends elements, numbered in row-major order, as nested lists.
func AppendNested(out []byte, shape []int64, item func(out []byte, i int) []byte) []byte {
	next := 0
	var level func(out []byte, shape []int64) []byte
	level = func(out []byte, shape []int64) []byte {
		if len(shape) == 0 {
			next++
			return item(out, next-1)
		}
		return AppendList(out, int(shape[0]), func(out []byte, _ int) []byte { return level(out, shape[1:]) })
	}
	return level(out, shape)
}
