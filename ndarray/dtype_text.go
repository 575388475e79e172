// Element types as text: NumPy's type strings in and out.

package ndarray

import (
	"fmt"
	"strconv"
	"strings"
)

var kindLetters = map[Kind]byte{
	Bool: 'b', Int: 'i', Uint: 'u', Float: 'f', Complex: 'c', Bytes: 'S', Unicode: 'U', Void: 'V',
}

var letterKinds = map[byte]Kind{
	'b': Bool, 'i': Int, 'u': Uint, 'f': Float, 'c': Complex, 'S': Bytes, 'U': Unicode, 'V': Void,
}

// typeNames are the names that NumPy prints for its number types; they mean
// native byte order.
var typeNames = map[string]DType{
	"bool":       {Kind: Bool, Size: 1},
	"int8":       {Kind: Int, Size: 1},
	"int16":      {Kind: Int, Size: 2},
	"int32":      {Kind: Int, Size: 4},
	"int64":      {Kind: Int, Size: 8},
	"uint8":      {Kind: Uint, Size: 1},
	"uint16":     {Kind: Uint, Size: 2},
	"uint32":     {Kind: Uint, Size: 4},
	"uint64":     {Kind: Uint, Size: 8},
	"float16":    {Kind: Float, Size: 2},
	"float32":    {Kind: Float, Size: 4},
	"float64":    {Kind: Float, Size: 8},
	"complex64":  {Kind: Complex, Size: 8},
	"complex128": {Kind: Complex, Size: 16},
	"string":     {Kind: String},
}

// String returns NumPy's type string: "<f8", "|b1", "|S5" (5 bytes), "<U5" (5
// code points), "|V8". Text of variable length is "string". Character set and
// padding are not in it, as NumPy has no words for them.
func (d DType) String() string {
	if d.Kind == String {
		return "string"
	}
	letter, ok := kindLetters[d.Kind]
	if !ok {
		return d.Kind.String()
	}
	size := d.Size
	if d.Kind == Unicode {
		size /= 4
	}
	return string(rune(d.Order)) + string(rune(letter)) + strconv.Itoa(size)
}

// ParseDType reads NumPy's type strings ("<f8", ">i4", "|b1", "S5", "<U5",
// "|V8") and names ("float64", "int32", "bool"). Without a byte order the
// machine's own is meant, as in NumPy; "|" before a number of several bytes is
// refused, since it leaves the order open. Everything else, structured types and
// dates among it, is ErrType with the text.
func ParseDType(s string) (DType, error) {
	bad := func(why string) (DType, error) {
		return DType{}, fmt.Errorf("%w: %q: %s", ErrType, s, why)
	}
	if d, ok := typeNames[s]; ok {
		d.Order = NoOrder
		if d.ordered() {
			d.Order = NativeOrder
		}
		return d, nil
	}
	text, order := s, NativeOrder
	if text != "" {
		switch c := text[0]; c {
		case '<', '>', '|':
			order, text = Order(c), text[1:]
		case '=':
			text = text[1:]
		}
	}
	if len(text) < 2 {
		return bad("not a NumPy type string")
	}
	kind, ok := letterKinds[text[0]]
	if !ok {
		return bad("unknown kind " + strconv.Quote(text[:1]))
	}
	digits := text[1:]
	size, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || strings.Trim(digits, "0123456789") != "" {
		return bad("bad size " + strconv.Quote(digits))
	}
	d := DType{Kind: kind, Size: int(size), Order: order}
	if kind == Unicode {
		if size > 1<<29-1 {
			return bad("bad size " + strconv.Quote(digits))
		}
		d.Size *= 4
	}
	if !d.ordered() {
		d.Order = NoOrder
	}
	if d.ordered() && order == NoOrder {
		return bad("the byte order is missing")
	}
	if d.Validate() != nil {
		return bad("no such element type")
	}
	return d, nil
}
