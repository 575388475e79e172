//go:build cgo

// Conversion between Values and Go values, and the default datatype of a Go type.

package h5

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// DecodeValues converts v to Go values of any type that plan.go lists: numbers, strings, structs,
// slices, Record, the empty interface.
//
// It returns ErrType if T does not match the datatype, and ErrOverflow or ErrPrecision if T cannot
// represent a number exactly.
func DecodeValues[T any](v Values) ([]T, error) {
	dst := make([]T, v.n)
	if err := decodeValues(v, dst, false); err != nil {
		return nil, &Error{Op: "decode", Err: err}
	}
	return dst, nil
}

func decodeValues[T any](v Values, dst []T, lossy bool) error {
	p, err := planFor(reflect.TypeFor[T](), &v.Datatype)
	if err != nil {
		return err
	}
	if !p.mem.Equal(v.Datatype) {
		if v, err = v.members(&p.mem); err != nil {
			return err
		}
	}
	x := transfer{v: v, lossy: lossy}
	for i := range dst {
		if err := p.decode(&x, v.element(i), unsafe.Pointer(&dst[i])); err != nil {
			clear(dst)
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// members returns v with its elements converted to mem, a datatype with a subset of the members.
// The data that pointers refer to is shared.
func (v Values) members(mem *Datatype) (Values, error) {
	if !mem.partOf(&v.Datatype) {
		return Values{}, fmt.Errorf("%w: %v as %v", ErrType, v.Datatype, *mem)
	}
	x := transfer{v: Values{Datatype: *mem, n: v.n, block: slices.Clone(v.block)}}
	size, from := mem.memSize(), v.Datatype.memSize()
	packed := make([]byte, v.n*size)
	for i := range v.n {
		x.extract(packed[i*size:(i+1)*size], x.v.block[i*from:(i+1)*from], mem, &v.Datatype)
	}
	// The packed elements are at most as long as the original ones, so offsets in the block stay
	// valid.
	copy(x.v.block, packed)
	return x.v, nil
}

// extract copies the members of part from an element of whole. It compacts the elements of a
// sequence in place.
func (x *transfer) extract(dst, src []byte, part, whole *Datatype) {
	switch {
	case part.Equal(*whole):
		copy(dst, src)
	case part.Class == Compound:
		for _, m := range part.Members {
			w := whole.member(m.Name)
			x.extract(dst[m.Offset:m.Offset+m.Type.memSize()], src[w.Offset:w.Offset+w.Type.memSize()], m.Type, w.Type)
		}
	case part.Class == Array:
		size, from := part.Base.memSize(), whole.Base.memSize()
		for i := range product(part.Dims) {
			x.extract(dst[int(i)*size:int(i+1)*size], src[int(i)*from:int(i+1)*from], part.Base, whole.Base)
		}
	default: // a sequence
		copy(dst, src)
		size, from := part.Base.memSize(), whole.Base.memSize()
		n, place := int(wordOf(src)), int(wordOf(src[wordSize:]))
		element := make([]byte, size)
		for i := range n {
			clear(element)
			x.extract(element, x.v.block[place+i*from:place+(i+1)*from], part.Base, whole.Base)
			copy(x.v.block[place+i*size:], element)
		}
	}
}

// EncodeValues converts Go values to elements of type t. If T is a struct without some of t's
// members, the datatype of the result contains only the members that T has.
//
// It returns ErrType if T does not match t, ErrOverflow or ErrPrecision if t cannot represent a
// number exactly, and ErrSize for a string or slice of the wrong length. It returns ErrParam for a
// string or slice that reading would not return unchanged.
func EncodeValues[T any](t Datatype, src []T) (Values, error) {
	v, err := encodeValues(&t, src, false)
	if err != nil {
		return Values{}, &Error{Op: "encode", Err: err}
	}
	return v, nil
}

func encodeValues[T any](t *Datatype, src []T, lossy bool) (Values, error) {
	if err := t.check(); err != nil {
		return Values{}, err
	}
	p, err := planFor(reflect.TypeFor[T](), t)
	if err != nil {
		return Values{}, err
	}
	x := transfer{v: Values{Datatype: p.mem, n: len(src)}, lossy: lossy}
	size := p.mem.memSize()
	x.grow(len(src), size)
	for i := range src {
		if err := p.encode(&x, i*size, unsafe.Pointer(&src[i])); err != nil {
			return Values{}, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return x.v, nil
}

// DatatypeFor returns the default datatype for storing T: numbers as they are in memory, bool as
// Bool, string as a variable-length string in UTF-8, complex numbers as h5py's {r, i}, a struct as
// a compound of its fields without gaps, [N]T as an array, []T as a sequence, Ref as an object
// reference. Field tags refine this. For example, `h5:"name,size=8"` is a string of 8 bytes, and
// `h5:"name,ref=standard"` is another kind of reference.
//
// It returns ErrType for a type without a default, such as a map or an interface.
func DatatypeFor[T any]() (Datatype, error) {
	t, err := datatypeFor(reflect.TypeFor[T](), structField{}, 0)
	if err != nil {
		return Datatype{}, &Error{Op: "make datatype", Err: err}
	}
	return t, nil
}

func datatypeFor(goType reflect.Type, f structField, depth int) (Datatype, error) {
	if depth > maxTypeDepth {
		return Datatype{}, fmt.Errorf("%w: %v is nested deeper than %d", ErrType, goType, maxTypeDepth)
	}
	size := int(goType.Size())
	switch k := goType.Kind(); {
	case goType == referenceType:
		return ReferenceType(max(f.ref, ObjectReference)), nil
	case goType == bigFloatType || goType == recordType || goType == enumType:
	case k == reflect.Bool:
		return Bool(), nil
	case k >= reflect.Int && k <= reflect.Int64:
		return Int(size, NativeOrder), nil
	case k >= reflect.Uint && k <= reflect.Uint64:
		return Uint(size, NativeOrder), nil
	case k == reflect.Float32 || k == reflect.Float64:
		return IEEEFloat(size, NativeOrder), nil
	case k == reflect.Complex64 || k == reflect.Complex128:
		return ComplexCompound(IEEEFloat(size/2, NativeOrder)), nil
	case k == reflect.String && f.size > 0:
		return FixedString(f.size, NullPad, UTF8), nil
	case k == reflect.String:
		return VariableString(UTF8), nil
	case k == reflect.Array:
		base, err := datatypeFor(goType.Elem(), f, depth+1)
		if err != nil {
			return Datatype{}, err
		}
		if goType.Len() == 0 {
			return Datatype{}, fmt.Errorf("%w: %v has no element", ErrType, goType)
		}
		n := int64(goType.Len())
		// Nested arrays become one array with all dimensions.
		if base.Class == Array && goType.Elem().Kind() == reflect.Array {
			return ArrayOf(*base.Base, append([]int64{n}, base.Dims...)...), nil
		}
		return ArrayOf(base, n), nil
	case k == reflect.Slice:
		base, err := datatypeFor(goType.Elem(), f, depth+1)
		if err != nil {
			return Datatype{}, err
		}
		return SequenceOf(base), nil
	case k == reflect.Struct:
		fields, err := structFields(goType)
		if err != nil {
			return Datatype{}, err
		}
		c := Datatype{Class: Compound}
		for _, f := range fields {
			m, err := datatypeFor(f.field.Type, f, depth+1)
			if err != nil {
				return Datatype{}, inMember(f.name, err)
			}
			c.Members = append(c.Members, Member{Name: f.name, Offset: c.Size, Type: &m})
			c.Size += m.memSize()
		}
		return c, nil
	}
	return Datatype{}, fmt.Errorf("%w: Go type %v has no stored form", ErrType, goType)
}

// ArrayOf returns an array datatype with elements of type base and the given dimensions.
func ArrayOf(base Datatype, dims ...int64) Datatype {
	return Datatype{Class: Array, Size: int(product(dims)) * base.memSize(), Dims: dims, Base: &base}
}

// sequenceSize is the size of a sequence in memory: its length and its offset.
const sequenceSize = 2 * wordSize

// SequenceOf returns the datatype of sequences of any length with elements of type base (H5T_VLEN).
func SequenceOf(base Datatype) Datatype {
	return Datatype{Class: Sequence, Size: sequenceSize, Base: &base}
}

// ComplexCompound returns the datatype that h5py and this package use for complex numbers: a
// compound of r and i.
func ComplexCompound(part Datatype) Datatype {
	return Datatype{Class: Compound, Size: 2 * part.Size, Members: []Member{
		{Name: "r", Type: &part}, {Name: "i", Offset: part.Size, Type: &part},
	}}
}

// CompoundOf returns a compound of consecutive members without gaps. It sets their offsets.
func CompoundOf(members ...Member) Datatype {
	c := Datatype{Class: Compound, Members: slices.Clone(members)}
	for i := range c.Members {
		c.Members[i].Offset = c.Size
		c.Size += c.Members[i].Type.memSize()
	}
	return c
}

// OpaqueOf returns an opaque datatype of size bytes. Only the tag describes their meaning.
func OpaqueOf(size int, tag string) Datatype { return Datatype{Class: Opaque, Size: size, Tag: tag} }

// EnumOf returns an enumeration over an integer type.
func EnumOf(base Datatype, members ...Member) Datatype {
	return Datatype{Class: Enum, Size: base.Size, Base: &base, Members: members}
}
