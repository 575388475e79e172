// Elements formatted as text, with enough digits to distinguish any two values.

package ndarray

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
)

// FormatElement formats one element in native byte order: d.Size bytes, or the bytes of a string
// that ReadStrings returns.
//
//   - numbers with the fewest digits that parse to the same number
//   - NaN with its bits, unless it is the default NaN
//   - strings quoted, without their padding
//   - times as ISO 8601, with as many digits as the unit has
//   - the name of an enumeration's value
//   - structures as {name: value}
//   - opaque bytes and bit fields in hexadecimal
//   - sequences in brackets, and references as the quoted path, or null
//
// It returns "invalid" if b is no element of d.
func FormatElement(d DType, b []byte) string {
	switch d.Kind {
	case Bool:
		switch b[0] {
		case 0:
			return "false"
		case 1:
			return "true"
		}
		return fmt.Sprintf("true (0x%02x)", b[0])
	case Int:
		return strconv.FormatInt(loadInt(b), 10)
	case Uint:
		if strings.HasPrefix(d.Tag, bitField) {
			return fmt.Sprintf("0x%0*x", 2*d.Size, loadUint(b))
		}
		return strconv.FormatUint(loadUint(b), 10)
	case Float, BFloat:
		return formatFloat(d, b)
	case Complex:
		part := DType{Kind: Float, Size: d.Size / 2}
		re, im := formatFloat(part, b[:d.Size/2]), formatFloat(part, b[d.Size/2:])
		if im[0] != '-' && im[0] != '+' {
			im = "+" + im
		}
		return "(" + re + im + "i)"
	case Bytes:
		return strconv.Quote(decodeBytes(b, d.Pad))
	case Unicode:
		return formatUnicode(b)
	case DateTime:
		return formatTime(d.Unit, loadInt(b))
	case TimeDelta:
		return formatSpan(d.Unit, loadInt(b))
	case Enum:
		return formatEnum(d, b)
	case String:
		return strconv.Quote(string(b))
	case Reference:
		if len(b) == 0 {
			return "null"
		}
		return strconv.Quote(string(b))
	case SubArray, VLen, Struct:
		parts, err := d.Split(b)
		if err != nil {
			return "invalid"
		}
		if d.Kind == Struct {
			strs := make([]string, len(d.Fields))
			for i, f := range d.Fields {
				strs[i] = f.Name + ": " + FormatElement(f.Type, parts[i])
			}
			return "{" + strings.Join(strs, ", ") + "}"
		}
		shape := d.Dims
		if d.Kind == VLen {
			shape = []int64{int64(len(parts))}
		}
		var s strings.Builder
		at := 0
		writeNested(&s, shape, &at, func(i int) string { return FormatElement(*d.Base, parts[i]) })
		return s.String()
	}
	return "0x" + hex.EncodeToString(b)
}

// bitField begins the tag of a Uint that is stored as a bit field.
const bitField = "bit field"

// loadInt returns a signed integer of 1, 2, 4 or 8 bytes.
func loadInt(b []byte) int64 {
	switch len(b) {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.NativeEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.NativeEndian.Uint32(b)))
	}
	return int64(binary.NativeEndian.Uint64(b))
}

// loadUint returns an unsigned integer of 1, 2, 4 or 8 bytes.
func loadUint(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// loadFloat returns the value of a Float or BFloat. The conversion is exact, except for extended
// precision, which is rounded.
func loadFloat(d DType, b []byte) float64 {
	switch {
	case d.Kind == BFloat:
		return float64(math.Float32frombits(uint32(binary.NativeEndian.Uint16(b)) << 16))
	case len(b) <= 8:
		return numbers.LoadFloat(b)
	}
	return loadExtended(b).float64()
}

// usualNaN is the quiet NaN without sign and payload, by size in bytes.
var usualNaN = map[int]uint64{2: 0x7e00, 4: 0x7fc00000, 8: 0x7ff8000000000000}

func formatFloat(d DType, b []byte) string {
	if len(b) > 8 {
		return loadExtended(b).String()
	}
	f, bits := loadFloat(d, b), 64
	if math.IsNaN(f) {
		if u := loadUint(b); u != usualNaN[len(b)] && !(d.Kind == BFloat && u == 0x7fc0) {
			return fmt.Sprintf("NaN(0x%0*x)", 2*len(b), u)
		}
		return "NaN"
	}
	if len(b) < 8 {
		bits = 32
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// formatEnum returns the name of a value, or its number if it has no name.
func formatEnum(d DType, b []byte) string {
	v := loadInt(b)
	if d.Base.Kind == Uint {
		v = int64(loadUint(b))
	}
	for _, m := range d.Members {
		if m.Value == v {
			return m.Name
		}
	}
	return FormatElement(*d.Base, b)
}

func formatUnicode(b []byte) string {
	var runes []rune
	for ; len(b) >= 4; b = b[4:] {
		runes = append(runes, rune(binary.NativeEndian.Uint32(b)))
	}
	for len(runes) > 0 && runes[len(runes)-1] == 0 {
		runes = runes[:len(runes)-1]
	}
	var s strings.Builder
	s.WriteByte('"')
	for _, r := range runes {
		if !utf8.ValidRune(r) {
			fmt.Fprintf(&s, `\U%08x`, uint32(r))
			continue
		}
		q := strconv.Quote(string(r))
		s.WriteString(q[1 : len(q)-1])
	}
	s.WriteByte('"')
	return s.String()
}

// String formats all elements of v, nested in brackets by axis, for example "3", "[1 2 3]" or "[[1
// 2] [3 4]]". A null value is "null".
func (v Value) String() string {
	if v.Null {
		return "null"
	}
	if v.Validate() != nil {
		return "invalid"
	}
	at := 0
	var s strings.Builder
	writeNested(&s, v.Shape, &at, func(i int) string {
		if v.DType.Size == 0 {
			return FormatElement(v.DType, []byte(v.Strings[i]))
		}
		return FormatElement(v.DType, v.Data[i*v.DType.Size:][:v.DType.Size])
	})
	return s.String()
}

// writeNested writes elements in row-major order, from number *at on, nested in brackets by axis.
func writeNested(s *strings.Builder, shape []int64, at *int, element func(i int) string) {
	if len(shape) == 0 {
		s.WriteString(element(*at))
		*at++
		return
	}
	s.WriteByte('[')
	for i := range shape[0] {
		if i > 0 {
			s.WriteByte(' ')
		}
		writeNested(s, shape[1:], at, element)
	}
	s.WriteByte(']')
}
