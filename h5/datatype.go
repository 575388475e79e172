// Datatypes as plain Go values. A value is complete enough to recreate the datatype of libhdf5. Its
// encoding for C must match shim_type.c.

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

// Classes, with the numbers of libhdf5.
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
	Sequence // variable-length sequence (H5T_VLEN)
	Array
	Complex // two floats
)

// Order is the byte order of an element in the file (H5T_order_t).
type Order int

// Byte orders, with the numbers of libhdf5.
const (
	LittleEndian Order = iota
	BigEndian
	VAX // little-endian 16-bit words, high word first; floats only
)

// NativeOrder is the byte order of this machine.
var NativeOrder = func() Order {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return LittleEndian
	}
	return BigEndian
}()

// Padding is the value of bits outside the precision (H5T_pad_t).
type Padding int

// Paddings, with the numbers of libhdf5.
const (
	PadZero Padding = iota
	PadOne
	PadBackground // unchanged
)

// StringPad is the padding of a string that is shorter than its type (H5T_str_t).
type StringPad int

// String paddings, with the numbers of libhdf5.
const (
	NullTerm StringPad = iota // ends at the first zero byte, as in C
	NullPad                   // zero bytes to the end, as in NumPy
	SpacePad                  // spaces to the end, as in Fortran
)

// CharSet is the declared character set of a string (H5T_cset_t). Neither libhdf5 nor this package
// checks that the bytes match it.
type CharSet int

// Character sets, with the numbers of libhdf5.
const (
	ASCII CharSet = iota
	UTF8
)

// ReferenceKind is one of the three kinds of reference.
type ReferenceKind int

// Kinds of reference.
const (
	ObjectReference   ReferenceKind = iota + 1 // H5T_STD_REF_OBJ
	RegionReference                            // H5T_STD_REF_DSETREG
	StandardReference                          // H5T_STD_REF, since 1.12
)

// Norm is the normalisation of a float's mantissa (H5T_norm_t).
type Norm int

// Normalisations, with the numbers of libhdf5.
const (
	NormImplied Norm = iota // the leading 1 is not stored
	NormMSBSet              // the leading 1 is stored
	NormNone
)

// FloatLayout contains the positions and sizes of the fields of a float in bits. Positions count
// from the lowest bit.
type FloatLayout struct {
	SignPos, ExpPos, ExpSize, MantPos, MantSize int
	ExpBias                                     uint64
	Norm                                        Norm
	InnerPad                                    Padding // of bits between the fields
}

// Datatype describes an element. It is a value that can be copied, printed and used after the file
// is closed. Use Equal to compare datatypes.
type Datatype struct {
	Class Class
	Size  int // bytes of an element in a buffer; 0 for strings of variable length

	// Integer, Float, Bitfield, Time.
	Order           Order
	Signed          bool // Integer
	Precision       int  // number of significant bits
	Offset          int  // number of bits below them
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

	// Committed is the address of the object header of a committed datatype, or 0 for any other
	// datatype. Creating objects and Equal ignore it.
	Committed uint64

	shared *CommittedType // committed datatype for objects created with this datatype
}

// Member is a member of a Compound or of an Enum.
type Member struct {
	Name   string
	Offset int       // Compound: bytes from the start of the element
	Type   *Datatype // Compound
	Value  int64     // Enum; if the base is unsigned, the bits of a uint64
}

// Int returns the datatype of a signed integer of size bytes without unused bits.
func Int(size int, order Order) Datatype {
	return Datatype{Class: Integer, Size: size, Order: order, Signed: true, Precision: 8 * size}
}

// Uint returns the datatype of an unsigned integer of size bytes without unused bits.
func Uint(size int, order Order) Datatype {
	return Datatype{Class: Integer, Size: size, Order: order, Precision: 8 * size}
}

// IEEEFloat returns the datatype of an IEEE 754 float of 2, 4 or 8 bytes.
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

// FixedString returns the datatype of strings of exactly size bytes, padding included.
func FixedString(size int, pad StringPad, cs CharSet) Datatype {
	return Datatype{Class: String, Size: size, Pad: pad, CharSet: cs}
}

// VariableString returns the datatype of strings of any length (H5T_VARIABLE).
func VariableString(cs CharSet) Datatype {
	return Datatype{Class: String, Variable: true, Pad: NullTerm, CharSet: cs}
}

// Equal reports whether t and u describe the same element. It ignores the byte order of one-byte
// types, because it has no effect.
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

// Native returns the form of t in memory. An element keeps its size; numbers use all bits and the
// byte order of this machine. For example, an integer of 17 bits in 4 bytes becomes one of 32 bits.
// VAX floats become IEEE floats if those can represent every value, and otherwise stay as they are.
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

// Plain reports whether the bytes of an element of t contain its complete value: t contains no
// variable-length strings, sequences or references. Such elements can be read and written as bytes.
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
	l, children := &t.Layout, len(t.Members)
	if t.Class == Array {
		children = len(t.Dims)
	}
	b = appendInts(b, []int64{
		int64(t.Class), int64(t.Size), int64(t.Order), boolInt(t.Signed),
		int64(t.Precision), int64(t.Offset), int64(t.LowPad), int64(t.HighPad),
		int64(l.SignPos), int64(l.ExpPos), int64(l.ExpSize),
		int64(l.MantPos), int64(l.MantSize), int64(l.ExpBias), int64(l.Norm), int64(l.InnerPad),
		boolInt(t.Variable), int64(t.Pad), int64(t.CharSet), int64(t.Ref),
		t.sharedID(), int64(children),
	})
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

// datatype decodes the output of goh5_type_put.
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

// Key returns a string that identifies the description: it is equal for equal descriptions. It
// returns an error that wraps ErrType if the description is inconsistent.
func (t *Datatype) Key() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	return string(t.append(nil)), nil
}

// check rejects datatypes whose encoding would be inconsistent.
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
		// libhdf5 creates and writes such a float but cannot read it, because H5Tset_fields accepts
		// layouts that H5O__dtype_decode_helper rejects.
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

// Validate checks that libhdf5 can represent t exactly. It converts t to a datatype of libhdf5 and
// back, and returns ErrType if the result differs.
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

// ArrayOf returns an array datatype with elements of type base and the given dimensions.
func ArrayOf(base Datatype, dims ...int64) Datatype {
	return Datatype{Class: Array, Size: int(product(dims)) * base.InMemory(), Dims: dims, Base: &base}
}

// sequenceSize is the size of a sequence in memory: its length and its offset.
const sequenceSize = 2 * wordSize

// SequenceOf returns the datatype of sequences of any length with elements of type base (H5T_VLEN).
func SequenceOf(base Datatype) Datatype {
	return Datatype{Class: Sequence, Size: sequenceSize, Base: &base}
}

// CompoundOf returns a compound of consecutive members without gaps. It sets their offsets.
func CompoundOf(members ...Member) Datatype {
	c := Datatype{Class: Compound, Members: slices.Clone(members)}
	for i := range c.Members {
		c.Members[i].Offset = c.Size
		c.Size += c.Members[i].Type.InMemory()
	}
	return c
}

// OpaqueOf returns an opaque datatype of size bytes. Only the tag describes their meaning.
func OpaqueOf(size int, tag string) Datatype { return Datatype{Class: Opaque, Size: size, Tag: tag} }

// EnumOf returns an enumeration over an integer type.
func EnumOf(base Datatype, members ...Member) Datatype {
	return Datatype{Class: Enum, Size: base.Size, Base: &base, Members: members}
}
