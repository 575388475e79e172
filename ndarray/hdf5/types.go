// Conversion of element types to and from HDF5:
//
//	Bool            H5T_ENUM of a signed byte, FALSE = 0 and TRUE = 1, as h5py writes it
//	Int, Uint       H5T_STD_I8LE … H5T_STD_U64BE, all bits in use
//	Float           H5T_IEEE_F16LE … H5T_IEEE_F64BE; of 12 and 16 bytes H5T_NATIVE_LDOUBLE of x86, 80 bits
//	BFloat          H5T_FLOAT of 16 bits, 8 of them the exponent
//	Complex         H5T_COMPOUND of two equal floats "r" and "i", as h5py writes it; H5T_COMPLEX of
//	                HDF5 2.0 is read
//	Bytes           H5T_STRING of fixed size, with its padding and character set
//	Void            H5T_OPAQUE with its tag
//	DateTime,       H5T_OPAQUE of 8 bytes with the tag "NUMPY:" and NumPy's type string, as h5py writes
//	TimeDelta       them; for example "NUMPY:<M8[ns]"
//	Enum            H5T_ENUM; h5py's bool is Bool
//	Struct          H5T_COMPOUND with its offsets; no titles
//	SubArray        H5T_ARRAY
//	String          H5T_STRING of variable size
//	VLen            H5T_VLEN
//	Reference       H5T_REFERENCE: H5T_STD_REF_OBJ with the tag "object", H5T_STD_REF_DSETREG with the
//	                tag "region", otherwise H5T_STD_REF; reference.go has the notation
//	Unicode         unsupported: HDF5 has no strings of 4-byte code points
//
// Numbers that HDF5 stores in another form have a tag with that form (layouts.go):
//
//	Int, Uint       integers of other sizes and precisions; bit fields are Uint, with a tag that begins
//	                with "bit field"
//	Float           floats of other layouts, for example VAX and FP8, if memory has every value
//	DateTime        H5T_TIME: seconds since 1970
//	Void            other numbers, for example integers of 128 bits; the tag begins with "HDF5:"

package hdf5

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/ndarray"
)

var (
	padsToH5  = map[ndarray.Pad]h5.StringPad{ndarray.NullPad: h5.NullPad, ndarray.NullTerm: h5.NullTerm, ndarray.SpacePad: h5.SpacePad}
	padsOfH5  = map[h5.StringPad]ndarray.Pad{h5.NullPad: ndarray.NullPad, h5.NullTerm: ndarray.NullTerm, h5.SpacePad: ndarray.SpacePad}
	charsToH5 = map[ndarray.CharSet]h5.CharSet{ndarray.ASCII: h5.ASCII, ndarray.UTF8: h5.UTF8}
	charsOfH5 = map[h5.CharSet]ndarray.CharSet{h5.ASCII: ndarray.ASCII, h5.UTF8: ndarray.UTF8}
)

// toDatatype returns the datatype of d. It returns errors.ErrUnsupported if no datatype converts
// back to d.
func toDatatype(d ndarray.DType) (h5.Datatype, error) {
	t, err := datatypeOf(d)
	if err != nil {
		return h5.Datatype{}, err
	}
	if back, ok := dtypeOf(t); !ok || !back.Equal(d) {
		return h5.Datatype{}, fmt.Errorf("%w: element type %v in HDF5, where it has another meaning", errors.ErrUnsupported, d)
	}
	return t, nil
}

func datatypeOf(d ndarray.DType) (h5.Datatype, error) {
	order := h5.LittleEndian
	if d.Order == ndarray.Big {
		order = h5.BigEndian
	}
	switch d.Kind {
	case ndarray.Bool:
		return h5value.Bool(), nil
	case ndarray.Int, ndarray.Uint, ndarray.Float, ndarray.DateTime:
		if d.Tag != "" {
			return numberLayout(d.Tag, order)
		}
	case ndarray.Void:
		if text, ok := strings.CutPrefix(d.Tag, layoutTag); ok {
			if big, ok := strings.CutPrefix(text, "big-endian "); ok {
				return numberLayout(big, h5.BigEndian)
			}
			return numberLayout(text, h5.LittleEndian)
		}
	}
	switch d.Kind {
	case ndarray.Int:
		return h5.Int(d.Size, order), nil
	case ndarray.Uint:
		return h5.Uint(d.Size, order), nil
	case ndarray.Float, ndarray.BFloat:
		return floatType(d.Kind, d.Size, order), nil
	case ndarray.Complex:
		return complexType(d.Size, order), nil
	case ndarray.Bytes:
		return h5.FixedString(d.Size, padsToH5[d.Pad], charsToH5[d.CharSet]), nil
	case ndarray.Void:
		return h5.Datatype{Class: h5.Opaque, Size: d.Size, Tag: d.Tag}, nil
	case ndarray.String:
		return h5.VariableString(charsToH5[d.CharSet]), nil
	case ndarray.VLen:
		base, err := datatypeOf(*d.Base)
		return h5.SequenceOf(base), err
	case ndarray.Reference:
		return h5.ReferenceType(referenceKinds[d.Tag]), nil
	case ndarray.DateTime, ndarray.TimeDelta:
		return h5.Datatype{Class: h5.Opaque, Size: d.Size, Tag: numpyTag + d.String()}, nil
	case ndarray.Enum:
		return enumType(d)
	case ndarray.SubArray:
		base, err := datatypeOf(*d.Base)
		return h5.ArrayOf(base, slices.Clone(d.Dims)...), err
	case ndarray.Struct:
		return compoundType(d)
	}
	return h5.Datatype{}, fmt.Errorf("%w: element type %v in HDF5", errors.ErrUnsupported, d)
}

// referenceKinds are the kinds of reference by the tag of a Reference.
var referenceKinds = map[string]h5.ReferenceKind{"object": h5.ObjectReference, "region": h5.RegionReference, "": h5.StandardReference}

// numpyTag is the prefix of tags of opaque types that contain a NumPy type.
const numpyTag = "NUMPY:"

func floatType(kind ndarray.Kind, size int, order h5.Order) h5.Datatype {
	t := h5.IEEEFloat(size, order)
	switch {
	case kind == ndarray.BFloat:
		t.Layout = h5.FloatLayout{SignPos: 15, ExpPos: 7, ExpSize: 8, MantSize: 7, ExpBias: 127}
	case size > 8:
		t.Precision = 80
		t.Layout = h5.FloatLayout{SignPos: 79, ExpPos: 64, ExpSize: 15, MantSize: 64, ExpBias: 16383, Norm: h5.NormNone}
	}
	return t
}

func complexType(size int, order h5.Order) h5.Datatype {
	part := floatType(ndarray.Float, size/2, order)
	return h5.Datatype{Class: h5.Compound, Size: size, Members: []h5.Member{
		{Name: "r", Offset: 0, Type: &part},
		{Name: "i", Offset: size / 2, Type: &part},
	}}
}

func enumType(d ndarray.DType) (h5.Datatype, error) {
	base, err := datatypeOf(*d.Base)
	t := h5.Datatype{Class: h5.Enum, Size: d.Size, Base: &base, Members: make([]h5.Member, len(d.Members))}
	for i, m := range d.Members {
		t.Members[i] = h5.Member{Name: m.Name, Value: m.Value}
	}
	return t, err
}

func compoundType(d ndarray.DType) (h5.Datatype, error) {
	t := h5.Datatype{Class: h5.Compound, Size: d.Size, Members: make([]h5.Member, len(d.Fields))}
	same := d.Size > 0 // the members have the same sizes in memory
	for i, f := range d.Fields {
		if f.Title != "" {
			return t, fmt.Errorf("%w: field %q has the title %q, which HDF5 cannot store", errors.ErrUnsupported, f.Name, f.Title)
		}
		m, err := datatypeOf(f.Type)
		if err != nil {
			return t, fmt.Errorf("field %q: %w", f.Name, err)
		}
		t.Members[i] = h5.Member{Name: f.Name, Offset: f.Offset, Type: &m}
		same = same && m.InMemory() == f.Type.Size
	}
	if !same {
		return h5.CompoundOf(t.Members...), nil
	}
	return t, nil
}

// toDType is the inverse of toDatatype, except that the offsets in a compound with members of
// variable size are lost. For a datatype that would not convert back to an equal one, the error
// contains its name and is both errors.ErrUnsupported and ndarray.ErrType. An example is an
// enumeration with two names for one value.
func toDType(stored h5.Datatype) (ndarray.DType, error) {
	t := withoutComplex(stored)
	if d, ok := dtypeOf(t); ok && d.Validate() == nil {
		if back, err := datatypeOf(d); err == nil && (back.Equal(t) || (d.Size == 0 || converted(d)) && packed(back).Equal(packed(t))) {
			return d, nil
		}
	}
	return ndarray.DType{}, errs.Mark(fmt.Errorf("%w: HDF5 datatype %v", errors.ErrUnsupported, stored), ndarray.ErrType)
}

// packed removes the properties of t that ndarray does not keep if the form in memory is another
// one: the offsets in compounds, and the padding of strings of variable length.
func packed(t h5.Datatype) h5.Datatype {
	if t.Variable {
		t.Pad = h5.NullTerm
	}
	if t.Base != nil {
		base := packed(*t.Base)
		if t.Base = &base; t.Class == h5.Array {
			return h5.ArrayOf(base, t.Dims...)
		}
	}
	if t.Class != h5.Compound {
		return t
	}
	t.Members = slices.Clone(t.Members)
	for i := range t.Members {
		m := packed(*t.Members[i].Type)
		t.Members[i].Type = &m
	}
	return h5.CompoundOf(t.Members...)
}

// withoutComplex replaces complex number types in t and inside it by the compound of two floats
// with the same bytes.
func withoutComplex(t h5.Datatype) h5.Datatype {
	if t.Base != nil {
		base := withoutComplex(*t.Base)
		if t.Class == h5.Complex {
			return h5.Datatype{Class: h5.Compound, Size: t.Size, Members: []h5.Member{
				{Name: "r", Offset: 0, Type: &base},
				{Name: "i", Offset: base.Size, Type: &base},
			}}
		}
		t.Base = &base
	}
	t.Members = slices.Clone(t.Members)
	for i, m := range t.Members {
		if m.Type != nil {
			x := withoutComplex(*m.Type)
			t.Members[i].Type = &x
		}
	}
	return t
}

// dtypeOf returns the likely type of t. The caller must verify it with datatypeOf.
func dtypeOf(t h5.Datatype) (ndarray.DType, bool) {
	switch t.Class {
	case h5.Integer, h5.Float:
		d, _ := plainType(t)
		if back, err := datatypeOf(d); err == nil && d.Validate() == nil && back.Equal(t) {
			return d, true
		}
		return unusual(t), true
	case h5.Bitfield, h5.Time:
		return unusual(t), true
	case h5.Sequence:
		base, ok := dtypeOf(*t.Base)
		return ndarray.DType{Kind: ndarray.VLen, Order: ndarray.NoOrder, Base: &base}, ok
	case h5.Reference:
		d := ndarray.DType{Kind: ndarray.Reference, Order: ndarray.NoOrder}
		for tag, kind := range referenceKinds {
			if kind == t.Ref {
				d.Tag = tag
			}
		}
		return d, true
	}
	return plainType(t)
}

// plainType is dtypeOf for datatypes whose elements have the same form in memory, apart from the
// byte order and the parts.
func plainType(t h5.Datatype) (ndarray.DType, bool) {
	d := ndarray.DType{Size: t.Size, Order: ndarray.NoOrder}
	order := ndarray.Little
	if t.Order == h5.BigEndian {
		order = ndarray.Big
	}
	switch t.Class {
	case h5.Enum:
		if h5value.IsBool(t) {
			d.Kind = ndarray.Bool
			return d, true
		}
		base, ok := dtypeOf(*t.Base)
		members := make([]ndarray.Member, len(t.Members))
		for i, m := range t.Members {
			members[i] = ndarray.Member{Name: m.Name, Value: m.Value}
		}
		return ndarray.EnumOf(base, members...), ok
	case h5.Integer:
		d.Kind = ndarray.Uint
		if t.Signed {
			d.Kind = ndarray.Int
		}
		if t.Size > 1 {
			d.Order = order
		}
	case h5.Float:
		d.Kind, d.Order = ndarray.Float, order
		if t.Layout.ExpSize == 8 && t.Size == 2 {
			d.Kind = ndarray.BFloat
		}
	case h5.Compound:
		return structOf(t)
	case h5.Array:
		base, ok := dtypeOf(*t.Base)
		return ndarray.SubArrayOf(base, t.Dims...), ok
	case h5.String:
		d.Kind, d.CharSet = ndarray.Bytes, charsOfH5[t.CharSet]
		if d.Pad = padsOfH5[t.Pad]; t.Variable {
			d.Kind, d.Pad = ndarray.String, ndarray.NullPad
		}
	case h5.Opaque:
		d.Kind, d.Tag = ndarray.Void, t.Tag
		if text, ok := strings.CutPrefix(t.Tag, numpyTag); ok {
			if x, err := ndarray.ParseDType(text); err == nil && (x.Kind == ndarray.DateTime || x.Kind == ndarray.TimeDelta) {
				return x, true
			}
		}
	default:
		return d, false
	}
	return d, true
}

// structOf returns the structure of a compound, or the complex type if the compound represents one.
func structOf(t h5.Datatype) (ndarray.DType, bool) {
	d := ndarray.DType{Kind: ndarray.Struct, Size: t.Size, Order: ndarray.NoOrder, Fields: make([]ndarray.Field, len(t.Members))}
	same := true // the members have the same sizes in memory
	for i, m := range t.Members {
		x, ok := dtypeOf(*m.Type)
		if !ok {
			return d, false
		}
		d.Fields[i] = ndarray.Field{Name: m.Name, Offset: m.Offset, Type: x}
		same = same && x.Size == m.Type.InMemory()
	}
	if !same {
		return ndarray.StructOf(false, d.Fields...), true
	}
	if len(d.Fields) == 2 && d.Fields[0].Type.Kind == ndarray.Float {
		z := ndarray.DType{Kind: ndarray.Complex, Size: t.Size, Order: d.Fields[0].Type.Order}
		if back, err := datatypeOf(z); z.Validate() == nil && err == nil && back.Equal(t) {
			return z, true
		}
	}
	return d, true
}
