// What an element is: a datatype as a plain Go value, complete enough to be made
// into the library's again. The words that cross to C are those of shim_type.c.

package h5

// #include "shim.h"
// #cgo noescape goh5_type_round
// #cgo nocallback goh5_type_round
import "C"

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Class is the kind of a datatype (H5T_class_t).
type Class int

// The classes, with the library's numbers.
const (
	Integer Class = iota
	Float
	Time
	String
	Bitfield
	Opaque
	Compound
	Reference
	Enum
	Sequence // variable length (H5T_VLEN)
	Array
	Complex // two floats
)

// Order is the order of an element's bytes in the file (H5T_order_t).
type Order int

// The orders, with the library's numbers.
const (
	LittleEndian Order = iota
	BigEndian
	VAX // little-endian words, high word first; floats only
)

// NativeOrder is the order of this machine.
var NativeOrder = func() Order {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return LittleEndian
	}
	return BigEndian
}()

// Padding says what fills bits that carry no value (H5T_pad_t).
type Padding int

// The paddings, with the library's numbers.
const (
	PadZero Padding = iota
	PadOne
	PadBackground // left as they were
)

// StringPad says how a string shorter than its type is filled (H5T_str_t).
type StringPad int

// The paddings of strings, with the library's numbers.
const (
	NullTerm StringPad = iota // ends at the first zero byte, as in C
	NullPad                   // zero bytes to the end, as NumPy writes
	SpacePad                  // spaces to the end, as in Fortran
)

// CharSet is what a string says of its bytes (H5T_cset_t). Neither the library
// nor this package checks that they are.
type CharSet int

// The character sets, with the library's numbers.
const (
	ASCII CharSet = iota
	UTF8
)

// ReferenceKind tells the three kinds of reference apart.
type ReferenceKind int

// The kinds of reference.
const (
	ObjectReference   ReferenceKind = iota + 1 // H5T_STD_REF_OBJ
	RegionReference                            // H5T_STD_REF_DSETREG
	StandardReference                          // H5T_STD_REF, since 1.12
)

// Norm says where a float's mantissa begins (H5T_norm_t).
type Norm int

// The normalisations, with the library's numbers.
const (
	NormImplied Norm = iota // the leading 1 is not stored
	NormMSBSet              // the leading 1 is stored
	NormNone
)

// FloatLayout says where the fields of a float lie, in bits from the lowest.
type FloatLayout struct {
	SignPos, ExpPos, ExpSize, MantPos, MantSize int
	ExpBias                                     uint64
	Norm                                        Norm
	InnerPad                                    Padding // of bits between the fields
}

// Datatype describes an element. It is a value: it may be copied, printed and
// kept after the file is closed. Compare with Equal.
type Datatype struct {
	Class Class
	Size  int // bytes an element takes in a buffer; 0 for strings of variable length

	// Integer, Float, Bitfield, Time.
	Order           Order
	Signed          bool // Integer
	Precision       int  // bits that carry the value
	Offset          int  // bits below them
	LowPad, HighPad Padding
	Layout          FloatLayout // Float

	// String.
	Variable bool
	Pad      StringPad
	CharSet  CharSet

	Tag     string        // Opaque
	Ref     ReferenceKind // Reference
	Base    *Datatype     // Enum, Sequence, Array, Complex
	Dims    []int64       // Array
	Members []Member      // Compound, Enum

	// Committed is the address of the object header if the datatype is an object of
	// its file, 0 if not; of a datatype to create with, nothing. Equal ignores it.
	Committed uint64

	shared *CommittedType // what things created with this datatype share
}

// Member is a field of a Compound or a name of an Enum.
type Member struct {
	Name   string
	Offset int       // Compound: bytes from the element's start
	Type   *Datatype // Compound
	Value  int64     // Enum; the bits of a uint64 if the base is unsigned
}

// Int is a signed integer of size bytes, all of them in use.
func Int(size int, order Order) Datatype {
	return Datatype{Class: Integer, Size: size, Order: order, Signed: true, Precision: 8 * size}
}

// Uint is an unsigned integer of size bytes, all of them in use.
func Uint(size int, order Order) Datatype {
	return Datatype{Class: Integer, Size: size, Order: order, Precision: 8 * size}
}

// IEEEFloat is a float of IEEE 754 with 2, 4 or 8 bytes.
func IEEEFloat(size int, order Order) Datatype {
	mant, exp := 52, 11
	switch size {
	case 2:
		mant, exp = 10, 5
	case 4:
		mant, exp = 23, 8
	}
	return Datatype{
		Class: Float, Size: size, Order: order, Precision: 8 * size,
		Layout: FloatLayout{SignPos: 8*size - 1, ExpPos: mant, ExpSize: exp, MantSize: mant, ExpBias: 1<<(exp-1) - 1},
	}
}

// Bool is what h5py writes for bool: an enumeration of FALSE = 0 and TRUE = 1
// over a signed byte.
func Bool() Datatype {
	base := Int(1, LittleEndian)
	return Datatype{
		Class: Enum, Size: 1, Base: &base,
		Members: []Member{{Name: "FALSE", Value: 0}, {Name: "TRUE", Value: 1}},
	}
}

// FixedString is a string of exactly size bytes, padding included.
func FixedString(size int, pad StringPad, cs CharSet) Datatype {
	return Datatype{Class: String, Size: size, Pad: pad, CharSet: cs}
}

// VariableString is a string of any length (H5T_VARIABLE).
func VariableString(cs CharSet) Datatype {
	return Datatype{Class: String, Variable: true, Pad: NullTerm, CharSet: cs}
}

// IsBool reports whether t is an enumeration as h5py writes for bool.
func (t Datatype) IsBool() bool {
	return t.Class == Enum && t.Size == 1 && len(t.Members) == 2 &&
		t.Members[0].Name == "FALSE" && t.Members[0].Value == 0 && t.Members[1].Name == "TRUE" && t.Members[1].Value == 1
}

// Equal reports whether t and u describe the same element. The order of types of
// one byte means nothing and is not compared.
func (t Datatype) Equal(u Datatype) bool {
	if t.Size == 1 && u.Size == 1 && t.Order != VAX && u.Order != VAX {
		t.Order, u.Order = LittleEndian, LittleEndian
	}
	same := t.Class == u.Class && t.Size == u.Size && t.Order == u.Order && t.Signed == u.Signed &&
		t.Precision == u.Precision && t.Offset == u.Offset && t.LowPad == u.LowPad && t.HighPad == u.HighPad &&
		t.Layout == u.Layout && t.Variable == u.Variable && t.Pad == u.Pad && t.CharSet == u.CharSet &&
		t.Tag == u.Tag && t.Ref == u.Ref && slices.Equal(t.Dims, u.Dims)
	return same && equalPointers(t.Base, u.Base) && slices.EqualFunc(t.Members, u.Members, func(a, b Member) bool {
		return a.Name == b.Name && a.Offset == b.Offset && a.Value == b.Value && equalPointers(a.Type, b.Type)
	})
}

func equalPointers(a, b *Datatype) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// Native is the form of t in memory: the same bytes an element, numbers whole
// (an integer of 17 bits in 4 bytes becomes one of 32) and in the order of this
// machine. VAX floats become IEEE floats where those hold every value of theirs,
// and else stay as they are.
func (t Datatype) Native() Datatype {
	t.Committed, t.shared = 0, nil
	switch t.Class {
	case Integer:
		t.Precision, t.Offset, t.LowPad, t.HighPad = 8*t.Size, 0, PadZero, PadZero
		t.Order = NativeOrder
	case Float:
		if t.Order == VAX {
			return t.nativeVAX()
		}
		t.Order = NativeOrder
	case Bitfield:
		t.Order = NativeOrder
	}
	if t.Base != nil {
		base := t.Base.Native()
		t.Base = &base
	}
	if t.Class == Compound {
		t.Members = slices.Clone(t.Members)
		for i, m := range t.Members {
			native := m.Type.Native()
			t.Members[i].Type = &native
		}
	}
	return t
}

func (t Datatype) nativeVAX() Datatype {
	if ieee := IEEEFloat(t.Size, NativeOrder); (t.Size == 4 || t.Size == 8) && t.Layout.MantSize <= ieee.Layout.MantSize {
		return ieee
	}
	return t
}

// Plain reports whether an element of t is nothing but its bytes: no string of
// variable length, sequence or reference inside. Such elements can be read and
// written as bytes.
func (t Datatype) Plain() bool {
	switch t.Class {
	case Integer, Float, Time, Bitfield, Opaque, Enum, Complex:
		return true
	case String:
		return !t.Variable
	case Array:
		return t.Base.Plain()
	case Compound:
		for _, m := range t.Members {
			if !m.Type.Plain() {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// append encodes t for the shim.
func (t *Datatype) append(b []byte) []byte {
	l := &t.Layout
	b = appendInt(b, int64(t.Class))
	b = appendInt(b, int64(t.Size))
	b = appendInt(b, int64(t.Order))
	b = appendBool(b, t.Signed)
	b = appendInt(b, int64(t.Precision))
	b = appendInt(b, int64(t.Offset))
	b = appendInt(b, int64(t.LowPad))
	b = appendInt(b, int64(t.HighPad))
	b = appendInt(b, int64(l.SignPos))
	b = appendInt(b, int64(l.ExpPos))
	b = appendInt(b, int64(l.ExpSize))
	b = appendInt(b, int64(l.MantPos))
	b = appendInt(b, int64(l.MantSize))
	b = appendWord(b, l.ExpBias)
	b = appendInt(b, int64(l.Norm))
	b = appendInt(b, int64(l.InnerPad))
	b = appendBool(b, t.Variable)
	b = appendInt(b, int64(t.Pad))
	b = appendInt(b, int64(t.CharSet))
	b = appendInt(b, int64(t.Ref))
	b = appendInt(b, t.sharedID())
	if t.Class == Array {
		b = appendInt(b, int64(len(t.Dims)))
	} else {
		b = appendInt(b, int64(len(t.Members)))
	}
	b = appendText(b, t.Tag)
	for _, d := range t.Dims {
		b = appendInt(b, d)
	}
	if t.Base != nil {
		b = t.Base.append(b)
	}
	for i := range t.Members {
		m := &t.Members[i]
		b = appendText(b, m.Name)
		if t.Class == Compound {
			b = appendInt(b, int64(m.Offset))
			b = m.Type.append(b)
		} else {
			b = appendInt(b, m.Value)
		}
	}
	return b
}

// datatype decodes what goh5_type_put wrote.
func (r *reader) datatype() Datatype {
	t := Datatype{
		Class: Class(r.int()), Size: int(r.int()), Order: Order(r.int()), Signed: r.bool(),
		Precision: int(r.int()), Offset: int(r.int()), LowPad: Padding(r.int()), HighPad: Padding(r.int()),
		Layout: FloatLayout{
			SignPos: int(r.int()), ExpPos: int(r.int()), ExpSize: int(r.int()),
			MantPos: int(r.int()), MantSize: int(r.int()), ExpBias: r.word(), Norm: Norm(r.int()), InnerPad: Padding(r.int()),
		},
		Variable: r.bool(), Pad: StringPad(r.int()), CharSet: CharSet(r.int()), Ref: ReferenceKind(r.int()),
		Committed: r.word(),
	}
	children := r.word()
	t.Tag = r.text()
	if t.Variable {
		t.Size = 0
	}
	switch t.Class {
	case Array:
		t.Dims = r.ints(children)
		t.Base = r.base()
	case Sequence, Complex:
		t.Base = r.base()
	case Enum:
		t.Base = r.base()
		t.Members = make([]Member, children)
		for i := range t.Members {
			t.Members[i] = Member{Name: r.text(), Value: r.int()}
		}
	case Compound:
		t.Members = make([]Member, children)
		for i := range t.Members {
			t.Members[i] = Member{Name: r.text(), Offset: int(r.int()), Type: r.base()}
		}
	}
	return t
}

func (r *reader) base() *Datatype {
	t := r.datatype()
	return &t
}

// check finds what would make the encoding contradict itself.
func (t *Datatype) check() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrType}, a...)...)
	}
	if t.Size < 0 || (t.Size == 0 && !t.Variable) {
		return bad("size of %d bytes", t.Size)
	}
	switch t.Class {
	case Integer, Float, Time, Bitfield:
		if t.Precision < 1 || t.Offset < 0 || t.Precision+t.Offset > 8*t.Size {
			return bad("%d bits from bit %d in %d bytes", t.Precision, t.Offset, t.Size)
		}
		// The library makes such a float and writes it, and refuses to read it: H5Tset_fields
		// lets pass what H5O__dtype_decode_helper does not.
		if l := t.Layout; t.Class == Float && (l.ExpSize < 1 || l.MantSize < 1 || l.ExpPos < l.MantPos+l.MantSize && l.MantPos < l.ExpPos+l.ExpSize) {
			return bad("exponent of %d bits from bit %d, mantissa of %d bits from bit %d", l.ExpSize, l.ExpPos, l.MantSize, l.MantPos)
		}
	case Opaque:
		if hasNUL(t.Tag) || len(t.Tag) > 255 {
			return bad("tag %q", t.Tag)
		}
	case String, Reference:
	case Enum, Sequence, Array, Complex:
		if t.Base == nil {
			return bad("%v without a base", t.Class)
		}
		if err := t.Base.check(); err != nil {
			return err
		}
	case Compound:
		if len(t.Members) == 0 {
			return bad("compound without members")
		}
	default:
		return bad("%v cannot be created", t.Class)
	}
	for i := range t.Members {
		m := &t.Members[i]
		if m.Name == "" || hasNUL(m.Name) {
			return bad("member name %q", m.Name)
		}
		if t.Class != Compound {
			continue
		}
		if m.Type == nil || m.Offset < 0 {
			return bad("member %q has no type or a negative offset", m.Name)
		}
		if err := m.Type.check(); err != nil {
			return err
		}
	}
	return nil
}

// Validate makes t into the library's datatype and describes that again: it
// returns ErrType unless the library can make exactly t.
func (t Datatype) Validate() error {
	const op = "make datatype"
	if err := t.check(); err != nil {
		return &Error{Op: op, Err: err}
	}
	b := t.append(nil)
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	if rc := C.goh5_type_round(&cerr, cBytes(b), C.size_t(len(b)), &blob); rc < 0 {
		return newError(op, "", rc, &cerr)
	}
	if made := takeBlob(&blob).datatype(); !made.Equal(t) {
		return &Error{Op: op, Err: fmt.Errorf("%w: %v becomes %v", ErrType, t, made)}
	}
	return nil
}
