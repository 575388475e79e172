// Elements of attributes from JSON: the inverse of jsonform.Literal.

package convert

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// encodeElement encodes a JSON value as an element of type d: d.Size bytes in native byte order, or
// the bytes of an element of variable size.
func encodeElement(d ndarray.DType, v any) ([]byte, error) {
	b := make([]byte, d.Size)
	wrong := func(want string) error { return fmt.Errorf("%v is no %s, which %v needs", v, want, d) }
	switch d.Kind {
	case ndarray.Bool:
		x, ok := v.(bool)
		if !ok {
			return nil, wrong("true or false")
		}
		if x {
			b[0] = 1
		}
		return b, nil
	case ndarray.Int, ndarray.Uint, ndarray.Float, ndarray.BFloat:
		return b, encodeNumber(d, b, v)
	case ndarray.Enum:
		return b, encodeEnum(d, b, v)
	case ndarray.Complex:
		return encodeComplex(d, v)
	case ndarray.DateTime, ndarray.TimeDelta:
		if v == "NaT" {
			v = json.Number(strconv.Itoa(ndarray.NaT))
		}
		return b, encodeNumber(ndarray.DTypeOf[int64](), b, v)
	case ndarray.Bytes, ndarray.Unicode, ndarray.Void:
		return b, encodeText(d, b, v)
	case ndarray.String:
		return encodeString(d, v)
	case ndarray.Reference:
		if v == nil {
			return nil, nil
		}
		return encodeString(d, v)
	case ndarray.Struct, ndarray.SubArray, ndarray.VLen:
		return encodeParts(d, v)
	}
	return nil, fmt.Errorf("%w: a value of %v in JSON", errors.ErrUnsupported, d)
}

// encodeParts encodes a list or, for a structure, an object.
func encodeParts(d ndarray.DType, v any) ([]byte, error) {
	var parts []any
	var err error
	switch x := v.(type) {
	case object:
		if d.Kind != ndarray.Struct || len(x) != len(d.Fields) {
			return nil, fmt.Errorf("an object with %d members, which is no %v", len(x), d)
		}
		for _, f := range d.Fields {
			if !slices.ContainsFunc(x, func(m member) bool { return m.name == f.Name }) {
				return nil, fmt.Errorf("the object has no member %q, which %v needs", f.Name, d)
			}
			parts = append(parts, x.get(f.Name))
		}
	case []any:
		if parts = x; d.Kind == ndarray.SubArray {
			parts, err = nestedLeaves(x, d.Dims)
		}
	default:
		return nil, fmt.Errorf("%v is no list, which %v needs", v, d)
	}
	if err != nil {
		return nil, err
	}
	encoded := make([][]byte, len(parts))
	for i, p := range parts {
		t := d.Base
		if d.Kind == ndarray.Struct {
			if i >= len(d.Fields) {
				return nil, fmt.Errorf("a list of %d values, %v has %d fields", len(parts), d, len(d.Fields))
			}
			t = &d.Fields[i].Type
		}
		if encoded[i], err = encodeElement(*t, p); err != nil {
			return nil, err
		}
	}
	return d.Join(encoded...)
}

// nestedLeaves returns the leaves of nested lists of a shape.
func nestedLeaves(list []any, shape []int64) (leaves []any, err error) {
	if int64(len(list)) != shape[0] {
		return nil, fmt.Errorf("a list of %d values, want %d", len(list), shape[0])
	}
	for _, x := range list {
		if len(shape) == 1 {
			leaves = append(leaves, x)
			continue
		}
		inner, ok := x.([]any)
		if !ok {
			return nil, fmt.Errorf("%v is no list of %d values", x, shape[1])
		}
		more, err := nestedLeaves(inner, shape[1:])
		if err != nil {
			return nil, err
		}
		leaves = append(leaves, more...)
	}
	return leaves, nil
}

func encodeComplex(d ndarray.DType, v any) ([]byte, error) {
	list, ok := v.([]any)
	if !ok || len(list) != 2 {
		return nil, fmt.Errorf("%v is no [real, imaginary], which %v needs", v, d)
	}
	part := ndarray.DType{Kind: ndarray.Float, Size: d.Size / 2, Order: d.Order}
	re, err := encodeElement(part, list[0])
	if err != nil {
		return nil, err
	}
	im, err := encodeElement(part, list[1])
	return append(re, im...), err
}

func encodeEnum(d ndarray.DType, b []byte, v any) error {
	name, ok := v.(string)
	if !ok {
		return encodeNumber(*d.Base, b, v)
	}
	for _, m := range d.Members {
		if m.Name != name {
			continue
		}
		for i := range b { // the low bytes in native byte order
			at := i
			if ndarray.NativeOrder == ndarray.Big {
				at = len(b) - 1 - i
			}
			b[at] = byte(m.Value >> (8 * i))
		}
		return nil
	}
	if _, err := strconv.ParseInt(name, 10, 64); err != nil {
		return fmt.Errorf("%q is no value of %v", name, d)
	}
	return encodeNumber(*d.Base, b, json.Number(name))
}

// encodeNumber encodes a number, or the name of a float that JSON does not have: NaN, Infinity,
// -Infinity, or NaN(0x…) with the bits of the element.
func encodeNumber(d ndarray.DType, b []byte, v any) error {
	text := ""
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		if isFloat(d) {
			return encodeSpecial(d, b, v)
		}
		return fmt.Errorf("%q is not a number, which %v needs", v, d)
	default:
		return fmt.Errorf("%v is not a number, which %v needs", v, d)
	}
	if isFloat(d) {
		return encodeFloat(d, b, text)
	}
	var src ndarray.Value
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		src = ndarray.Scalar(n)
	} else if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		src = ndarray.Scalar(n)
	} else {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		src = ndarray.Scalar(f)
	}
	return ndarray.Convert(b, d, src.Data, src.DType, false)
}

func isFloat(d ndarray.DType) bool { return d.Kind == ndarray.Float || d.Kind == ndarray.BFloat }

// encodeSpecial encodes a float that is not a JSON number.
func encodeSpecial(d ndarray.DType, b []byte, name string) error {
	special := map[string]float64{"NaN": math.Float64frombits(0x7ff8 << 48), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}
	if x, ok := special[name]; ok {
		return storeFloat(d, b, numbers.OfFloat(x))
	}
	digits, ok := strings.CutPrefix(name, "NaN(0x")
	bits, isHex := new(big.Int).SetString(strings.TrimSuffix(digits, ")"), 16)
	size := min(len(b), 10) // of an extended float, which has padding
	if !ok || !isHex || bits.Sign() < 0 || bits.BitLen() > 8*size {
		return fmt.Errorf("%q is not a number, which %v needs", name, d)
	}
	low := bits.FillBytes(make([]byte, size))
	if ndarray.NativeOrder == ndarray.Little {
		slices.Reverse(low)
		copy(b, low)
	} else {
		copy(b[len(b)-size:], low)
	}
	return nil
}

// encodeFloat encodes the digits of a number as the nearest float. Beyond the range of the type it
// is an error.
func encodeFloat(d ndarray.DType, b []byte, digits string) error {
	bits := 64
	if d.Size < 8 {
		bits = 32 // the digits of a short float identify a float of 4 bytes
	}
	n, err := numbers.Number{}, error(nil)
	if d.Size > 8 {
		var x *big.Float
		if x, _, err = big.ParseFloat(digits, 10, 64, big.ToNearestEven); err == nil {
			n = numbers.OfBig(x)
		}
	} else {
		var x float64
		x, err = strconv.ParseFloat(digits, bits)
		n = numbers.OfFloat(x)
	}
	if err == nil {
		err = storeFloat(d, b, n)
	}
	if err == nil && strings.Contains(ndarray.FormatElement(d, b), "Inf") {
		err = errors.New("out of range")
	}
	if err != nil {
		return fmt.Errorf("%w: %s is not a value of %v", ndarray.ErrValue, digits, d)
	}
	return nil
}

// storeFloat stores the float of type d nearest to n.
func storeFloat(d ndarray.DType, b []byte, n numbers.Number) error {
	half := numbers.Layout{SignPos: 15, ExpPos: 10, ExpSize: 5, MantSize: 10, Bias: 15, Implied: true}
	brain := numbers.Layout{SignPos: 15, ExpPos: 7, ExpSize: 8, MantSize: 7, Bias: 127, Implied: true}
	layout := map[int]numbers.Layout{2: half, 4: numbers.IEEE32, 8: numbers.IEEE64}[d.Size]
	precision := 8 * d.Size
	switch {
	case d.Kind == ndarray.BFloat:
		layout = brain
	case d.Size > 8:
		layout, precision = numbers.X87, 80
	}
	f := numbers.Format{Float: true, Order: numbers.Native, Size: d.Size, Precision: precision, Layout: layout}
	return f.Store(b, n, true)
}

// bytesOf returns the bytes of {"base64": …}.
func bytesOf(v any) (b []byte, ok bool) {
	o, _ := v.(object)
	text, isText := o.get("base64").(string)
	if len(o) != 1 || !isText {
		return nil, false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return b, err == nil
}

// encodeString encodes an element of variable size.
func encodeString(d ndarray.DType, v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	if b, ok := bytesOf(v); ok {
		return b, nil
	}
	if _, number := v.(json.Number); number && d.Kind == ndarray.String {
		return nil, fmt.Errorf("%v is a number in a list of strings; put it in quotes", v)
	} else if d.Kind == ndarray.String {
		return nil, fmt.Errorf("%v is no string, which %v needs", v, d)
	}
	return nil, fmt.Errorf("%v is no path in quotes, which %v needs", v, d)
}

// encodeText encodes a string of a fixed size, or bytes.
func encodeText(d ndarray.DType, b []byte, v any) error {
	raw, isBytes := bytesOf(v)
	s, isText := v.(string)
	switch {
	case d.Kind == ndarray.Void && (!isBytes || len(raw) != len(b)):
		return fmt.Errorf(`%v is no {"base64": …} of %d bytes, which %v needs`, v, len(b), d)
	case !isBytes && !isText:
		return fmt.Errorf("%v is no text in quotes, which %v needs", v, d)
	case d.Kind == ndarray.Unicode && isBytes:
		return encodeCodePoints(d, b, raw)
	case d.Kind != ndarray.Unicode:
		if isText {
			raw = []byte(s)
		}
		if len(raw) > len(b) {
			return fmt.Errorf("%q: got %d bytes, want at most %d for %v", raw, len(raw), len(b), d)
		}
		if n := copy(b, raw); d.Pad == ndarray.SpacePad {
			copy(b[n:], strings.Repeat(" ", len(b)-n))
		}
		return nil
	}
	if n := utf8.RuneCountInString(s); n > len(b)/4 {
		return fmt.Errorf("%q: got %d characters, want at most %d for %v", s, n, len(b)/4, d)
	}
	i := 0
	for _, r := range s {
		binary.NativeEndian.PutUint32(b[i:], uint32(r))
		i += 4
	}
	return nil
}

// encodeCodePoints encodes little-endian code points.
func encodeCodePoints(d ndarray.DType, b, points []byte) error {
	if len(points)%4 != 0 || len(points) > len(b) {
		return fmt.Errorf("%d bytes of code points, want a multiple of 4 and at most %d for %v", len(points), len(b), d)
	}
	for i := 0; i < len(points); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.LittleEndian.Uint32(points[i:]))
	}
	return nil
}

// emptyShape reports whether lists cannot show a shape: after a length of 0.
func emptyShape(shape []int64) bool {
	n, _ := grid.Product(shape)
	return n == 0 && len(shape) > 1
}
