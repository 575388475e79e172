// The element type of an array: one value that says how the bytes of an element
// are to be understood, in storage and in memory.

package ndarray

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// Kind is the family of an element type. The zero Kind is no kind.
type Kind uint8

// The kinds. In memory every element takes DType.Size bytes, in native order.
const (
	Bool    Kind = 1 + iota // one byte, 0 is false
	Int                     // two's complement, 1, 2, 4 or 8 bytes
	Uint                    // unsigned, 1, 2, 4 or 8 bytes
	Float                   // IEEE 754 binary16, binary32 or binary64
	Complex                 // two floats, real part first: 8 or 16 bytes together
	Bytes                   // text or bytes of fixed length (NumPy S)
	Unicode                 // code points of 4 bytes each, fixed count (NumPy U)
	Void                    // opaque bytes of fixed length (NumPy V)
	String                  // text of variable length; only attributes hold it today
)

var kindNames = [...]string{
	"invalid", "bool", "int", "uint", "float", "complex", "bytes", "unicode", "void", "string",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Order is the byte order of an element type, written as NumPy writes it.
type Order uint8

// The orders.
const (
	NoOrder Order = '|' // elements of one byte, Bytes, Void, String
	Little  Order = '<'
	Big     Order = '>'
)

// NativeOrder is the byte order of this machine.
var NativeOrder = nativeOrder()

func nativeOrder() Order {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return Little
	}
	return Big
}

func (o Order) String() string {
	switch o {
	case NoOrder:
		return "no byte order"
	case Little:
		return "little-endian"
	case Big:
		return "big-endian"
	}
	return "Order(" + strconv.Itoa(int(o)) + ")"
}

// CharSet is the encoding of Bytes and String elements.
type CharSet uint8

// The character sets. ASCII is also what is used for bytes that are not text.
const (
	ASCII CharSet = iota
	UTF8
)

func (c CharSet) String() string {
	switch c {
	case ASCII:
		return "ASCII"
	case UTF8:
		return "UTF-8"
	}
	return "CharSet(" + strconv.Itoa(int(c)) + ")"
}

// Pad says how a Bytes element shorter than its place is filled up.
type Pad uint8

// The paddings. They are HDF5's (H5T_str_t); NumPy and Blosc2 know NullPad only.
const (
	NullPad  Pad = iota // zero bytes to the end; a full place has none
	NullTerm            // ends at the first zero byte, which is always there
	SpacePad            // spaces to the end
)

func (p Pad) String() string {
	switch p {
	case NullPad:
		return "null-padded"
	case NullTerm:
		return "null-terminated"
	case SpacePad:
		return "space-padded"
	}
	return "Pad(" + strconv.Itoa(int(p)) + ")"
}

// DType is an element type. It is a value: copy it freely, compare it with
// Equal and never with ==, because structured types will add a slice of fields.
type DType struct {
	Kind    Kind
	Size    int     // bytes an element takes; 0 for String
	Order   Order   // byte order in storage; NoOrder where a byte order means nothing
	CharSet CharSet // Bytes and String; ASCII otherwise
	Pad     Pad     // Bytes; NullPad otherwise
}

// Validate returns ErrType if no such element type exists.
func (d DType) Validate() error {
	ok := false
	switch d.Kind {
	case Bool:
		ok = d.Size == 1
	case Int, Uint:
		ok = d.Size == 1 || d.Size == 2 || d.Size == 4 || d.Size == 8
	case Float:
		ok = d.Size == 2 || d.Size == 4 || d.Size == 8
	case Complex:
		ok = d.Size == 8 || d.Size == 16
	case Bytes, Void:
		ok = d.Size > 0
	case Unicode:
		ok = d.Size > 0 && d.Size%4 == 0
	case String:
		ok = d.Size == 0
	}
	switch {
	case !ok:
		return fmt.Errorf("%w: %v of %d bytes", ErrType, d.Kind, d.Size)
	case d.ordered() && d.Order != Little && d.Order != Big:
		return fmt.Errorf("%w: %v of %d bytes without a byte order", ErrType, d.Kind, d.Size)
	case !d.ordered() && d.Order != NoOrder:
		return fmt.Errorf("%w: %v of %d bytes with byte order %q", ErrType, d.Kind, d.Size, rune(d.Order))
	case d.CharSet > UTF8 || (d.CharSet != ASCII && d.Kind != Bytes && d.Kind != String):
		return fmt.Errorf("%w: %v with character set %v", ErrType, d.Kind, d.CharSet)
	case d.Pad > SpacePad || (d.Pad != NullPad && d.Kind != Bytes):
		return fmt.Errorf("%w: %v with padding %v", ErrType, d.Kind, d.Pad)
	}
	return nil
}

// Equal reports whether two element types are the same in storage too, byte
// order, character set and padding included.
func (d DType) Equal(o DType) bool {
	return d.EqualValues(o) && d.Order == o.Order
}

// EqualValues reports whether elements of the two types have the same bytes in
// memory and the same meaning: only the byte order in storage may differ.
func (d DType) EqualValues(o DType) bool {
	return d.Kind == o.Kind && d.Size == o.Size && d.CharSet == o.CharSet && d.Pad == o.Pad
}

// Native returns d as it is in memory: in this machine's byte order.
func (d DType) Native() DType {
	if d.ordered() {
		d.Order = NativeOrder
	}
	return d
}

// IsNative reports whether storage and memory have the same bytes.
func (d DType) IsNative() bool { return !d.ordered() || d.Order == NativeOrder }

// ordered reports whether a byte order means something.
func (d DType) ordered() bool {
	switch d.Kind {
	case Int, Uint, Float, Complex, Unicode:
		return d.Size > 1
	}
	return false
}

// unit is the number of bytes that a byte order turns round together.
func (d DType) unit() int {
	switch {
	case !d.ordered():
		return 1
	case d.Kind == Complex:
		return d.Size / 2
	case d.Kind == Unicode:
		return 4
	}
	return d.Size
}
