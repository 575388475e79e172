// Element types, as the API of h5grove describes them.

package serve

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Classes of libhdf5 (H5T_class_t).
const (
	classInteger = iota
	classFloat
	classTime
	classString
	classBitfield
	classOpaque
	classCompound
	classReference
	classEnum
	classSequence
	classArray
)

// typeDoc describes an element type.
type typeDoc struct {
	Name  string `json:"name,omitempty"` // of the member of a compound
	Class int    `json:"class"`
	DType any    `json:"dtype"` // NumPy's notation; an object with the members of a compound
	Size  int    `json:"size"`  // bytes

	Order *int `json:"order,omitempty"` // integer, float, bit field: 0 little-endian, 1 big-endian
	Sign  *int `json:"sign,omitempty"`  // integer: 1 signed

	// String.
	CharSet *int  `json:"cset,omitempty"`
	Pad     *int  `json:"strpad,omitempty"`
	Vlen    *bool `json:"vlen,omitempty"`

	Tag     *string  `json:"tag,omitempty"`     // opaque
	Members any      `json:"members,omitempty"` // compound: []typeDoc; enumeration: members
	Base    *typeDoc `json:"base,omitempty"`    // enumeration, sequence, array
	Dims    []int64  `json:"dims,omitempty"`    // array
}

// members are the members of an enumeration, an object in their order.
type members []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (m members) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, x := range m {
		if i > 0 {
			out = append(out, ',')
		}
		for _, part := range []any{x.name, x.value} {
			b, err := jsonform.Marshal(part)
			if err != nil {
				return nil, err
			}
			out = append(append(out, b...), ':')
		}
		out = out[:len(out)-1]
	}
	return append(out, '}'), nil
}

func ptr[T any](v T) *T { return &v }

// The sizes of pointers and lengths in libhdf5's elements in memory.
const (
	stringPointer = 8
	sequenceWords = 16
)

// typeOf describes a datatype of HDF5.
func typeOf(t *h5.Datatype) typeDoc {
	d := typeDoc{Class: int(t.Class), Size: sizeOf(t), DType: dtypeOf(t)}
	order := 0
	if t.Order == h5.BigEndian {
		order = 1
	}
	switch t.Class {
	case h5.Integer:
		sign := 0
		if t.Signed {
			sign = 1
		}
		d.Order, d.Sign = &order, &sign
	case h5.Float, h5.Bitfield:
		d.Order = &order
	case h5.String:
		d.CharSet, d.Vlen = ptr(int(t.CharSet)), ptr(t.Variable)
		d.Pad = ptr(int(t.Pad))
	case h5.Opaque:
		d.Tag = ptr(t.Tag)
	case h5.Compound:
		list := make([]typeDoc, len(t.Members))
		for i, m := range t.Members {
			list[i] = typeOf(m.Type)
			list[i].Name = m.Name
		}
		d.Members = list
	case h5.Enum:
		list := make(members, len(t.Members))
		for i, m := range t.Members {
			list[i] = member{m.Name, m.Value}
			if !t.Base.Signed {
				list[i].value = uint64(m.Value)
			}
		}
		d.Members, d.Base = list, ptr(typeOf(t.Base))
	case h5.Sequence:
		d.Base = ptr(typeOf(t.Base))
	case h5.Array:
		d.Base, d.Dims = ptr(typeOf(t.Base)), t.Dims
	case h5.Complex: // h5web knows the compound that h5py writes for complex numbers
		d.Class = classCompound
		real, imaginary := typeOf(t.Base), typeOf(t.Base)
		real.Name, imaginary.Name = "r", "i"
		d.Members = []typeDoc{real, imaginary}
	}
	return d
}

// sizeOf returns the bytes of an element, as H5Tget_size.
func sizeOf(t *h5.Datatype) int {
	if t.Class == h5.String && t.Variable {
		return stringPointer
	}
	return t.Size
}

// dtypeOf returns the dtype that h5py has for a datatype: a string, or an object with the members
// of a compound.
func dtypeOf(t *h5.Datatype) any {
	switch t.Class {
	case h5.Integer:
		kind := "u"
		if t.Signed {
			kind = "i"
		}
		return numberType(kind, t.Size, t.Order)
	case h5.Bitfield:
		return numberType("u", t.Size, t.Order)
	case h5.Float:
		return numberType("f", t.Size, t.Order)
	case h5.Time:
		return numberType("i", t.Size, t.Order)
	case h5.String:
		if !t.Variable {
			return fmt.Sprintf("|S%d", t.Size)
		}
	case h5.Opaque:
		if numpy, ok := strings.CutPrefix(t.Tag, "NUMPY:"); ok {
			if d, err := ndarray.ParseDType(numpy); err == nil && d.Size == t.Size {
				return d.String()
			}
		}
		return fmt.Sprintf("|V%d", t.Size)
	case h5.Compound:
		if part, ok := complexPart(t); ok {
			return numberType("c", t.Size, part.Order)
		}
		list := make(members, len(t.Members))
		for i, m := range t.Members {
			list[i] = member{m.Name, dtypeOf(m.Type)}
		}
		return list
	case h5.Complex:
		return numberType("c", t.Size, t.Base.Order)
	case h5.Enum:
		if h5value.IsBool(*t) {
			return "|b1"
		}
		return dtypeOf(t.Base)
	case h5.Array:
		return fmt.Sprintf("|V%d", t.Size)
	}
	return "|O"
}

func numberType(kind string, size int, order h5.Order) string {
	mark := "<"
	switch {
	case size == 1:
		mark = "|"
	case order == h5.BigEndian:
		mark = ">"
	}
	return mark + kind + strconv.Itoa(size)
}

// complexPart returns the type of the two parts of h5py's complex numbers: a compound of the floats
// r and i.
func complexPart(t *h5.Datatype) (*h5.Datatype, bool) {
	switch {
	case t.Class == h5.Complex:
		return t.Base, true
	case t.Class != h5.Compound || len(t.Members) != 2 || t.Members[0].Name != "r" || t.Members[1].Name != "i":
		return nil, false
	}
	r, i := t.Members[0].Type, t.Members[1].Type
	return r, r.Class == h5.Float && r.Equal(*i)
}

// isNumeric reports whether NumPy has a number type for the elements, or for the elements of an
// array type.
func isNumeric(t *h5.Datatype) bool {
	switch t.Class {
	case h5.Integer, h5.Float, h5.Bitfield, h5.Enum, h5.Complex:
		return true
	case h5.Compound:
		_, ok := complexPart(t)
		return ok
	case h5.Array:
		return isNumeric(t.Base)
	}
	return false
}

// typeOfArray describes an element type of ndarray.
func typeOfArray(d ndarray.DType) typeDoc {
	t := typeDoc{Size: d.Size, DType: d.NumPy().String()}
	order := 0
	if d.Order == ndarray.Big {
		order = 1
	}
	str := func(vlen bool) {
		t.Class = classString
		t.CharSet, t.Pad, t.Vlen = ptr(int(d.CharSet)), ptr(int(h5.NullPad)), ptr(vlen)
		if d.Kind != ndarray.Bytes {
			*t.CharSet = int(h5.UTF8)
		}
	}
	switch d.Kind {
	case ndarray.Bool:
		base := typeDoc{Class: classInteger, Size: 1, DType: "|i1", Order: ptr(0), Sign: ptr(1)}
		t.Class, t.Base, t.Members = classEnum, &base, members{{"FALSE", 0}, {"TRUE", 1}}
	case ndarray.Int:
		t.Class, t.Order, t.Sign = classInteger, &order, ptr(1)
	case ndarray.Uint:
		t.Class, t.Order, t.Sign = classInteger, &order, ptr(0)
	case ndarray.Float, ndarray.BFloat:
		t.Class, t.Order = classFloat, &order
	case ndarray.Complex:
		part := typeDoc{Class: classFloat, Size: d.Size / 2, Order: &order, DType: ndarray.DType{Kind: ndarray.Float, Size: d.Size / 2, Order: d.Order}.String()}
		real, imaginary := part, part
		real.Name, imaginary.Name = "r", "i"
		t.Class, t.Members = classCompound, []typeDoc{real, imaginary}
	case ndarray.String:
		t.Size = stringPointer
		str(true)
		t.DType = "|O"
	case ndarray.Reference: // as the path of its target
		t.Size = stringPointer
		str(true)
		t.DType = "|O"
	case ndarray.VLen:
		t.Size, t.Class, t.DType, t.Base = stringPointer, classSequence, "|O", ptr(typeOfArray(*d.Base))
	case ndarray.Bytes, ndarray.Unicode, ndarray.DateTime, ndarray.TimeDelta: // times in ISO 8601
		str(false)
	case ndarray.Enum:
		list := make(members, len(d.Members))
		for i, m := range d.Members {
			list[i] = member{m.Name, m.Value}
			if d.Base.Kind == ndarray.Uint {
				list[i].value = uint64(m.Value)
			}
		}
		t.Class, t.Members, t.Base = classEnum, list, ptr(typeOfArray(*d.Base))
	case ndarray.Struct:
		list := make([]typeDoc, len(d.Fields))
		types := make(members, len(d.Fields))
		for i, f := range d.Fields {
			list[i] = typeOfArray(f.Type)
			list[i].Name = f.Name
			types[i] = member{f.Name, list[i].DType}
		}
		t.Class, t.Members, t.DType = classCompound, list, types
	case ndarray.SubArray:
		t.Class, t.Dims, t.Base = classArray, d.Dims, ptr(typeOfArray(*d.Base))
		t.DType = fmt.Sprintf("|V%d", d.Size)
	default:
		t.Class, t.Tag = classOpaque, ptr(d.Tag)
	}
	return t
}

// numericArray reports whether NumPy has a number type for the elements.
func numericArray(d ndarray.DType) bool {
	switch d.Kind {
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Float, ndarray.BFloat, ndarray.Complex, ndarray.Enum:
		return true
	case ndarray.SubArray:
		return numericArray(*d.Base)
	}
	return false
}
