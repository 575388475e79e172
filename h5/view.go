//go:build cgo

// Looking at elements of any datatype without a Go type for them: what prints,
// compares or counts what it did not choose. Built on Values.

package h5

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// View is one element of Values, or a part of one. It is a place and not a copy: it
// stays valid as long as its Values.
type View struct {
	v *Values
	t *Datatype
	b []byte
}

// View is element number i.
func (v *Values) View(i int) View { return View{v, &v.Datatype, v.element(i)} }

// Elements is the value of the attribute in the form that holds every datatype:
// what Data or Strings held becomes Values of Datatype.Native(), what Values held is
// as stored. It returns ErrType if Strings do not go with Datatype.
func (a *Attribute) Elements() (Values, error) {
	switch {
	case a.Data != nil:
		native := a.Datatype.Native()
		return Values{Datatype: native, n: len(a.Data) / max(native.Size, 1), block: a.Data}, nil
	case a.Strings != nil:
		return EncodeValues(a.Datatype, a.Strings)
	default:
		return a.Values, nil
	}
}

// Datatype is what the element is.
func (e View) Datatype() Datatype { return *e.t }

// Class is the class of Datatype.
func (e View) Class() Class { return e.t.Class }

// Bytes are the element as stored; of what points elsewhere, nothing of use.
func (e View) Bytes() []byte { return e.b }

// Text is a string without its padding, and false for a null pointer in place of a
// string of variable length.
func (e View) Text() (string, bool) {
	if !e.t.Variable {
		return unpadded(e.b, e.t.Pad), true
	}
	place := wordOf(e.b)
	if place == 0 {
		return "", false
	}
	return e.v.at(place).text(), true
}

// unpadded is a string of fixed length without what fills it.
func unpadded(b []byte, pad StringPad) string {
	n := len(b)
	switch pad {
	case SpacePad:
		for n > 0 && b[n-1] == ' ' {
			n--
		}
	case NullPad:
		for n > 0 && b[n-1] == 0 {
			n--
		}
	default:
		for i, c := range b {
			if c == 0 {
				return string(b[:i])
			}
		}
	}
	return string(b[:n])
}

// Whole is an integer, bit field, time or the number behind an enumeration in
// decimal digits, and false if it has more than 64 bits.
func (e View) Whole() (string, bool) {
	t := e.t
	if t.Class == Enum {
		t = t.Base
	}
	if t.Precision > 64 || t.Precision < 1 || t.Size > maxNumberSize {
		return "", false
	}
	n := t.loadInt(e.b)
	if n.neg {
		return strconv.FormatInt(int64(-n.mag), 10), true
	}
	return strconv.FormatUint(n.mag, 10), true
}

// Float is a float, exactly if it fits a float64 and else as a *big.Float beside the
// nearest float64; false if it takes more bytes than this package computes with.
func (e View) Float() (f float64, exact *big.Float, ok bool) {
	if e.t.Size > maxNumberSize {
		return 0, nil, false
	}
	n := e.t.loadFloat(e.b)
	switch n.kind {
	case isBig:
		f, _ = n.big.Float64()
		return f, n.big, true
	case isInt:
		f, _ = n.float64(true)
		if n.neg && n.mag == 0 {
			f = math.Copysign(0, -1)
		}
		return f, nil, true
	}
	return n.f, nil, true
}

// Name is the name of the member of an enumeration that the element is, and false
// if it is none.
func (e View) Name() (string, bool) {
	if e.t.Base.Precision > 64 {
		return "", false
	}
	n := e.t.Base.loadInt(e.b)
	value := int64(n.mag)
	if n.neg {
		value = -value
	}
	for _, m := range e.t.Members {
		if m.Value == value {
			return m.Name, true
		}
	}
	return "", false
}

// Ref is a reference.
func (e View) Ref() Ref {
	r := Ref{Kind: e.t.Ref}
	switch {
	case e.t.Ref == StandardReference:
		if place := wordOf(e.b); place != 0 {
			r.data = string(e.v.at(place).bytes())
		}
	case !zero(e.b):
		r.data = string(e.b)
	}
	return r
}

// Len is the number of members of a compound, elements of an array or sequence, and
// 0 for anything else.
func (e View) Len() int {
	switch e.t.Class {
	case Compound:
		return len(e.t.Members)
	case Array:
		return int(product(e.t.Dims))
	case Sequence:
		return int(wordOf(e.b))
	default:
		return 0
	}
}

// At is member or element number i, in row-major order.
func (e View) At(i int) View {
	if i < 0 || i >= e.Len() {
		panic(fmt.Sprintf("h5: View.At(%d) of %d", i, e.Len()))
	}
	if e.t.Class == Compound {
		m := &e.t.Members[i]
		return View{e.v, m.Type, e.b[m.Offset : m.Offset+m.Type.memSize()]}
	}
	size, from := e.t.Base.memSize(), e.b
	if e.t.Class == Sequence {
		from = e.v.block[wordOf(e.b[wordSize:]):]
	}
	return View{e.v, e.t.Base, from[i*size : (i+1)*size]}
}
