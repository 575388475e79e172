// Element types, to HDF5 and back:
//
//	Bool            H5T_ENUM of a signed byte, FALSE = 0 and TRUE = 1, as h5py writes it
//	Int, Uint       H5T_STD_I8LE … H5T_STD_U64BE, all bits in use
//	Float           H5T_IEEE_F16LE … H5T_IEEE_F64BE
//	Complex         H5T_COMPOUND of two equal floats "r" and "i", as h5py writes it
//	Bytes           H5T_STRING of fixed size, with its padding and character set
//	Void            H5T_OPAQUE without a tag
//	String          H5T_STRING of variable size; attributes only
//	Unicode         none: HDF5 has no text of 4-byte code points

package hdf5

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

var (
	padsToH5  = map[ndarray.Pad]h5.StringPad{ndarray.NullPad: h5.NullPad, ndarray.NullTerm: h5.NullTerm, ndarray.SpacePad: h5.SpacePad}
	padsOfH5  = map[h5.StringPad]ndarray.Pad{h5.NullPad: ndarray.NullPad, h5.NullTerm: ndarray.NullTerm, h5.SpacePad: ndarray.SpacePad}
	charsToH5 = map[ndarray.CharSet]h5.CharSet{ndarray.ASCII: h5.ASCII, ndarray.UTF8: h5.UTF8}
	charsOfH5 = map[h5.CharSet]ndarray.CharSet{h5.ASCII: ndarray.ASCII, h5.UTF8: ndarray.UTF8}
)

// toDatatype returns the datatype of d; errors.ErrUnsupported if there is none.
func toDatatype(d ndarray.DType) (h5.Datatype, error) {
	order := h5.LittleEndian
	if d.Order == ndarray.Big {
		order = h5.BigEndian
	}
	switch d.Kind {
	case ndarray.Bool:
		return h5.Bool(), nil
	case ndarray.Int:
		return h5.Int(d.Size, order), nil
	case ndarray.Uint:
		return h5.Uint(d.Size, order), nil
	case ndarray.Float:
		return h5.IEEEFloat(d.Size, order), nil
	case ndarray.Complex:
		return complexType(d.Size, order), nil
	case ndarray.Bytes:
		return h5.FixedString(d.Size, padsToH5[d.Pad], charsToH5[d.CharSet]), nil
	case ndarray.Void:
		return h5.Datatype{Class: h5.Opaque, Size: d.Size}, nil
	case ndarray.String:
		return h5.VariableString(charsToH5[d.CharSet]), nil
	}
	return h5.Datatype{}, fmt.Errorf("%w: element type %v in HDF5", errors.ErrUnsupported, d)
}

func complexType(size int, order h5.Order) h5.Datatype {
	part := h5.IEEEFloat(size/2, order)
	return h5.Datatype{Class: h5.Compound, Size: size, Members: []h5.Member{
		{Name: "r", Offset: 0, Type: &part},
		{Name: "i", Offset: size / 2, Type: &part},
	}}
}

// toDType is the inverse of toDatatype. A datatype that would not come back
// equal, as an integer of 17 bits, a tagged opaque or a compound, is
// errors.ErrUnsupported and ndarray.ErrType, with its name.
func toDType(t h5.Datatype) (ndarray.DType, error) {
	d := ndarray.DType{Size: t.Size, Order: ndarray.NoOrder}
	order := ndarray.Little
	if t.Order == h5.BigEndian {
		order = ndarray.Big
	}
	switch t.Class {
	case h5.Enum:
		d.Kind = ndarray.Bool
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
	case h5.Compound:
		d.Kind, d.Order = ndarray.Complex, ndarray.Little
		if len(t.Members) > 0 && t.Members[0].Type.Order == h5.BigEndian {
			d.Order = ndarray.Big
		}
	case h5.String:
		d.Kind, d.CharSet = ndarray.Bytes, charsOfH5[t.CharSet]
		if d.Pad = padsOfH5[t.Pad]; t.Variable {
			d.Kind, d.Pad = ndarray.String, ndarray.NullPad
			t.Pad = h5.NullTerm // says nothing about strings of variable length
		}
	case h5.Opaque:
		d.Kind = ndarray.Void
	}
	if d.Validate() == nil {
		if back, err := toDatatype(d); err == nil && back.Equal(t) {
			return d, nil
		}
	}
	return ndarray.DType{}, ndarray.Mark(fmt.Errorf("%w: HDF5 datatype %v", errors.ErrUnsupported, t), ndarray.ErrType)
}
