// Access to elements of any datatype without a Go type, for code that prints, compares or counts
// elements of unknown types. It is built on h5.Values.

package h5elem

import (
	"fmt"
	"math/big"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/elements/numbers"
)

// View is one element of h5.Values, or a part of one. It refers to the Values and does not copy
// them.
type View struct {
	v *h5.Values
	t *h5.Datatype
	b []byte
}

// ViewOf returns element number i of v.
func ViewOf(v *h5.Values, i int) View {
	return View{v, &v.Datatype, Element(v, i, v.Datatype.InMemory())}
}

// Datatype returns the datatype of the element.
func (e View) Datatype() h5.Datatype { return *e.t }

// Class returns the class of Datatype.
func (e View) Class() h5.Class { return e.t.Class }

// Bytes returns the element as stored. The bytes have no meaning for an element that refers to
// other data: a string of variable length, a sequence or a standard reference.
func (e View) Bytes() []byte { return e.b }

// Text returns a string without its padding. It returns false for a null pointer of a string of
// variable length.
func (e View) Text() (string, bool) {
	if !e.t.Variable {
		return TrimPadding(e.b, e.t.Pad), true
	}
	place := Word(e.b)
	if place == 0 {
		return "", false
	}
	return string(BytesAt(e.v.Block, place)), true
}

// Whole returns an integer, bit field, time or the number of an enumeration in decimal digits. It
// returns false if the number has more than 64 bits.
func (e View) Whole() (string, bool) {
	t := e.t
	if t.Class == h5.Enum {
		t = t.Base
	}
	if t.Precision > 64 || t.Precision < 1 || t.Size > numbers.MaxSize {
		return "", false
	}
	format := FormatOf(t)
	return format.Load(e.b).String(), true
}

// Float returns a float as a float64 if that is exact, otherwise a *big.Float and the nearest
// float64. It returns false if the float has more bytes than this package supports.
func (e View) Float() (f float64, exact *big.Float, ok bool) {
	if e.t.Size > numbers.MaxSize {
		return 0, nil, false
	}
	format := FormatOf(e.t)
	n := format.Load(e.b)
	if f, err := n.Float64(false); err == nil {
		return f, nil, true
	}
	f, _ = n.Float64(true)
	return f, n.Big(), true
}

// Name returns the name of the enumeration member with the element's value. It returns false if
// there is no such member.
func (e View) Name() (string, bool) {
	if e.t.Base.Precision > 64 {
		return "", false
	}
	format := FormatOf(e.t.Base)
	value := int64(format.Load(e.b).Bits())
	for _, m := range e.t.Members {
		if m.Value == value {
			return m.Name, true
		}
	}
	return "", false
}

// Ref returns a reference.
func (e View) Ref() h5.Ref { return Ref(e.v.Block, e.b, e.t.Ref) }

// Len returns the number of members of a compound or of elements of an array or sequence. It
// returns 0 for other classes.
func (e View) Len() int {
	switch e.t.Class {
	case h5.Compound:
		return len(e.t.Members)
	case h5.Array:
		return Length(e.t)
	case h5.Sequence:
		return int(Word(e.b))
	default:
		return 0
	}
}

// At returns member or element number i, in row-major order.
func (e View) At(i int) View {
	if i < 0 || i >= e.Len() {
		panic(fmt.Sprintf("h5elem: View.At(%d) of %d", i, e.Len()))
	}
	if e.t.Class == h5.Compound {
		m := &e.t.Members[i]
		return View{e.v, m.Type, e.b[m.Offset : m.Offset+m.Type.InMemory()]}
	}
	size, from := e.t.Base.InMemory(), e.b
	if e.t.Class == h5.Sequence {
		from = e.v.Block[Word(e.b[WordSize:]):]
	}
	return View{e.v, e.t.Base, from[i*size : (i+1)*size]}
}
