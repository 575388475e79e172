//go:build cgo

// Go values from Values and back, and the datatype that a Go type is stored as.

package h5

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// DecodeValues makes Go values of v, of any type that plan.go lists: numbers,
// strings, structs, slices, Record, the empty interface.
//
// It returns ErrType if T and the datatype do not meet, and ErrOverflow or
// ErrPrecision if a number is not exactly one of T's.
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

// members is v with its elements as mem has them, a datatype with some of the
// members. What they point to is shared.
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
	// A part is no longer than the whole, so that the places stay.
	copy(x.v.block, packed)
	return x.v, nil
}

// extract copies the members of part out of an element of whole. The elements of a
// sequence are moved together where they are.
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

// EncodeValues makes elements of type t from Go values. If T is a struct without
// some of t's members, the datatype of the result has only those it has.
//
// It returns ErrType if T and t do not meet, ErrOverflow or ErrPrecision if a
// number is not exactly one of t's, ErrSize for a string or a slice of the wrong
// length, or ErrParam for one that could not come back as it is.
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

// DatatypeFor is the datatype that T is stored as where nothing else says so:
// numbers as they are in memory, bool as Bool, string as a variable string in
// UTF-8, complex numbers as h5py's {r, i}, a struct as a compound of its fields
// without gaps, [N]T as an array, []T as a sequence, Ref as a reference to an
// object. Tags of fields say more: `h5:"name,size=8"` is a string of 8 bytes,
// `h5:"name,ref=standard"` another kind of reference.
//
// It returns ErrType for a type that has none, such as a map or an interface.
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
		if base.Class == Array && goType.Elem().Kind() == reflect.Array { // one array of more dimensions
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
	return Datatype{}, fmt.Errorf("%w: nothing says how Go's %v is stored", ErrType, goType)
}

// ArrayOf is a fixed number of elements of base along each dimension.
func ArrayOf(base Datatype, dims ...int64) Datatype {
	return Datatype{Class: Array, Size: int(product(dims)) * base.memSize(), Dims: dims, Base: &base}
}

// sequenceSize is what a sequence takes in memory: its length and where it is.
const sequenceSize = 2 * wordSize

// SequenceOf is any number of elements of base (H5T_VLEN).
func SequenceOf(base Datatype) Datatype {
	return Datatype{Class: Sequence, Size: sequenceSize, Base: &base}
}

// ComplexCompound is how h5py and this package store a complex number: a compound
// of r and i.
func ComplexCompound(part Datatype) Datatype {
	return Datatype{Class: Compound, Size: 2 * part.Size, Members: []Member{
		{Name: "r", Type: &part}, {Name: "i", Offset: part.Size, Type: &part},
	}}
}

// CompoundOf is a compound of members one after the other, without gaps; their
// offsets are filled in.
func CompoundOf(members ...Member) Datatype {
	c := Datatype{Class: Compound, Members: slices.Clone(members)}
	for i := range c.Members {
		c.Members[i].Offset = c.Size
		c.Size += c.Members[i].Type.memSize()
	}
	return c
}

// OpaqueOf is size bytes that only the tag says anything of.
func OpaqueOf(size int, tag string) Datatype { return Datatype{Class: Opaque, Size: size, Tag: tag} }

// EnumOf is an enumeration over an integer type.
func EnumOf(base Datatype, members ...Member) Datatype {
	return Datatype{Class: Enum, Size: base.Size, Base: &base, Members: members}
}
