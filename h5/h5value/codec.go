// Conversion between h5.Values and Go values, and the default datatype of a Go type.

package h5value

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

// Decode converts v to Go values of any type that the package comment lists: numbers, strings,
// structs, slices, Record, the empty interface.
//
// It returns ErrType if T does not match the datatype, and ErrOverflow or ErrPrecision if T cannot
// represent a number exactly.
func Decode[T any](v h5.Values) ([]T, error) {
	dst, err := decodeAll[T](v)
	if err != nil {
		return nil, &h5.Error{Op: "decode", Err: err}
	}
	return dst, nil
}

func decodeAll[T any](v h5.Values) ([]T, error) {
	p, err := planFor(reflect.TypeFor[T](), &v.Datatype)
	if err != nil {
		return nil, err
	}
	if !p.mem.Equal(v.Datatype) {
		v = members(v, &p.mem)
	}
	dst := make([]T, v.N)
	return dst, decode(p, v, dst, false)
}

// inElement is the format of an error of an element.
const inElement = "element %d: %w"

// decode fills dst with the elements of v, whose datatype is that of the plan.
func decode[T any](p *plan, v h5.Values, dst []T, lossy bool) error {
	items := p.items(reflect.TypeFor[T](), inElement)
	err := items.Decode(&state{Block: v.Block, Lossy: lossy}, len(dst), v.Block, unsafe.Pointer(unsafe.SliceData(dst)))
	if err != nil {
		clear(dst)
	}
	return err
}

// members returns v with its elements converted to mem, a datatype with a subset of the members.
// The data that pointers refer to is shared.
func members(v h5.Values, mem *h5.Datatype) h5.Values {
	block := slices.Clone(v.Block)
	size, from := mem.InMemory(), v.Datatype.InMemory()
	packed := make([]byte, v.N*size)
	for i := range v.N {
		extract(block, packed[i*size:(i+1)*size], block[i*from:(i+1)*from], mem, &v.Datatype)
	}
	// The packed elements are at most as long as the original ones, so offsets in the block stay
	// valid.
	copy(block, packed)
	return h5.Values{Datatype: *mem, N: v.N, Block: block}
}

// extract copies the members of part from an element of whole. It compacts the elements of a
// sequence in place.
func extract(block, dst, src []byte, part, whole *h5.Datatype) {
	switch {
	case part.Equal(*whole):
		copy(dst, src)
	case part.Class == h5.Compound:
		for _, m := range part.Members {
			w := memberCalled(whole, m.Name)
			extract(block, dst[m.Offset:m.Offset+m.Type.InMemory()], src[w.Offset:w.Offset+w.Type.InMemory()], m.Type, w.Type)
		}
	case part.Class == h5.Array:
		size, from := part.Base.InMemory(), whole.Base.InMemory()
		for i := range h5elem.Length(part) {
			extract(block, dst[i*size:(i+1)*size], src[i*from:(i+1)*from], part.Base, whole.Base)
		}
	default: // a sequence
		copy(dst, src)
		size, from := part.Base.InMemory(), whole.Base.InMemory()
		n, place := int(h5elem.Word(src)), int(h5elem.Word(src[h5elem.WordSize:]))
		element := make([]byte, size)
		for i := range n {
			clear(element)
			extract(block, element, block[place+i*from:place+(i+1)*from], part.Base, whole.Base)
			copy(block[place+i*size:], element)
		}
	}
}

// Encode converts Go values to elements of type t. If T is a struct without some of t's
// members, the datatype of the result contains only the members that T has.
//
// It returns ErrType if T does not match t, ErrOverflow or ErrPrecision if t cannot represent a
// number exactly, and ErrSize for a string or slice of the wrong length. It returns ErrParam for a
// string or slice that reading would not return unchanged.
func Encode[T any](t h5.Datatype, src []T) (h5.Values, error) {
	v, err := encode(&t, src, false)
	if err != nil {
		return h5.Values{}, &h5.Error{Op: "encode", Err: err}
	}
	return v, nil
}

func encode[T any](t *h5.Datatype, src []T, lossy bool) (h5.Values, error) {
	p, err := planFor(reflect.TypeFor[T](), t)
	if err != nil {
		return h5.Values{}, err
	}
	items := p.items(reflect.TypeFor[T](), inElement)
	x := state{Lossy: lossy}
	h5elem.Grow(&x.Block, len(src), items.Size)
	err = items.Encode(&x, len(src), 0, unsafe.Pointer(unsafe.SliceData(src)))
	if err != nil {
		return h5.Values{}, err
	}
	return h5.Values{Datatype: p.mem, N: len(src), Block: x.Block}, nil
}

// DatatypeFor returns the default datatype for storing T: numbers as they are in memory, bool as
// Bool, string as a variable-length string in UTF-8, complex numbers as h5py's {r, i}, a struct as
// a compound of its fields without gaps, [N]T as an array, []T as a sequence, Ref as an object
// reference. Field tags refine this. For example, `h5:"name,size=8"` is a string of 8 bytes, and
// `h5:"name,ref=standard"` is another kind of reference.
//
// It returns ErrType for a type without a default, such as a map or an interface.
func DatatypeFor[T any]() (h5.Datatype, error) {
	t, err := datatypeFor(reflect.TypeFor[T](), structField{}, 0)
	if err != nil {
		return h5.Datatype{}, &h5.Error{Op: "make datatype", Err: err}
	}
	return t, nil
}

func datatypeFor(goType reflect.Type, f structField, depth int) (h5.Datatype, error) {
	if depth > maxTypeDepth {
		return h5.Datatype{}, fmt.Errorf("%w: %v is nested deeper than %d", h5.ErrType, goType, maxTypeDepth)
	}
	size := int(goType.Size())
	switch k := goType.Kind(); {
	case goType == referenceType:
		return h5.ReferenceType(max(f.ref, h5.ObjectReference)), nil
	case goType == bigFloatType || goType == recordType || goType == enumType:
	case k == reflect.Bool:
		return Bool(), nil
	case k >= reflect.Int && k <= reflect.Int64:
		return h5.Int(size, h5.NativeOrder), nil
	case k >= reflect.Uint && k <= reflect.Uint64:
		return h5.Uint(size, h5.NativeOrder), nil
	case k == reflect.Float32 || k == reflect.Float64:
		return h5.IEEEFloat(size, h5.NativeOrder), nil
	case k == reflect.Complex64 || k == reflect.Complex128:
		return ComplexCompound(h5.IEEEFloat(size/2, h5.NativeOrder)), nil
	case k == reflect.String && f.size > 0:
		return h5.FixedString(f.size, h5.NullPad, h5.UTF8), nil
	case k == reflect.String:
		return h5.VariableString(h5.UTF8), nil
	case k == reflect.Array:
		base, err := datatypeFor(goType.Elem(), f, depth+1)
		if err != nil {
			return h5.Datatype{}, err
		}
		if goType.Len() == 0 {
			return h5.Datatype{}, fmt.Errorf("%w: %v has no element", h5.ErrType, goType)
		}
		n := int64(goType.Len())
		// Nested arrays become one array with all dimensions.
		if base.Class == h5.Array && goType.Elem().Kind() == reflect.Array {
			return h5.ArrayOf(*base.Base, append([]int64{n}, base.Dims...)...), nil
		}
		return h5.ArrayOf(base, n), nil
	case k == reflect.Slice:
		base, err := datatypeFor(goType.Elem(), f, depth+1)
		if err != nil {
			return h5.Datatype{}, err
		}
		return h5.SequenceOf(base), nil
	case k == reflect.Struct:
		fields, err := structFields(goType)
		if err != nil {
			return h5.Datatype{}, err
		}
		c := h5.Datatype{Class: h5.Compound}
		for _, f := range fields {
			m, err := datatypeFor(f.field.Type, f, depth+1)
			if err != nil {
				return h5.Datatype{}, fmt.Errorf(inMember, f.name, err)
			}
			c.Members = append(c.Members, h5.Member{Name: f.name, Offset: c.Size, Type: &m})
			c.Size += m.InMemory()
		}
		return c, nil
	}
	return h5.Datatype{}, fmt.Errorf("%w: Go type %v has no stored form", h5.ErrType, goType)
}
