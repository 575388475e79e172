package h5types

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// Dataspace returns the dataspace s.
func Dataspace(s *h5file.Dataspace) h5.Dataspace {
	switch s.Class {
	case h5file.ScalarSpace:
		return h5.ScalarSpace()
	case h5file.NullSpace:
		return h5.NullSpace()
	}
	d := h5.Dataspace{Kind: h5.Simple}
	for i, n := range s.Dims {
		d.Dims = append(d.Dims, int64(n))
		if s.MaxDims != nil {
			d.MaxDims = append(d.MaxDims, int64(s.MaxDims[i])) // Unlimited becomes -1
		}
	}
	return d
}

// Datatype returns the type of elements in memory. Strings of variable length and references have
// another size in memory than in the file, and compounds that contain them do too.
func Datatype(t *h5file.Datatype) (h5.Datatype, error) {
	d, err := convert(t)
	if err == nil {
		err = d.Validate()
	}
	return d, err
}

func convert(t *h5file.Datatype) (h5.Datatype, error) {
	if t == nil {
		return h5.Datatype{}, errors.New("datatype: the object has no datatype")
	}
	d := h5.Datatype{Size: int(t.Size)}
	pads := func() {
		d.Order = h5.Order(t.Order())
		d.LowPad, d.HighPad = h5.Padding(t.Bits>>1&1), h5.Padding(t.Bits>>2&1)
		d.Precision, d.Offset = int(t.Precision), int(t.BitOffset)
	}
	base := func() error {
		if t.Base == nil {
			return errors.New("datatype: got no base type, want one")
		}
		u, err := convert(t.Base)
		d.Base = &u
		return err
	}
	var err error
	switch t.Class {
	case h5file.IntegerClass:
		d.Class = h5.Integer
		pads()
		d.Signed = t.Signed()
	case h5file.FloatClass:
		d.Class = h5.Float
		pads()
		d.Layout = h5.FloatLayout{
			SignPos: int(t.SignBit()), ExpPos: int(t.ExponentAt), ExpSize: int(t.ExponentBits), MantPos: int(t.MantissaAt), MantSize: int(t.MantissaBits),
			ExpBias: uint64(t.Bias), Norm: h5.Norm(2 - t.Normalization()), InnerPad: h5.Padding(t.Bits >> 3 & 1),
		}
	case h5file.TimeClass:
		d.Class = h5.Time
		d.Order, d.Precision = h5.Order(t.Order()), int(t.Precision)
	case h5file.StringClass:
		d.Class = h5.String
		d.Pad, d.CharSet = h5.StringPad(t.StringPad()), h5.CharSet(t.CharSet())
	case h5file.BitfieldClass:
		d.Class = h5.Bitfield
		pads()
	case h5file.OpaqueClass:
		d.Class, d.Tag = h5.Opaque, t.Tag
	case h5file.CompoundClass:
		d.Class = h5.Compound
		for _, m := range t.Members {
			u, err := convert(m.Type)
			if err != nil {
				return d, err
			}
			d.Members = append(d.Members, h5.Member{Name: m.Name, Offset: int(m.Offset), Type: &u})
		}
		resize(&d, t)
	case h5file.ReferenceClass:
		switch t.RefKind() {
		case h5file.ObjectRef:
			return h5.ReferenceType(h5.ObjectReference), nil
		case h5file.RegionRef:
			return h5.ReferenceType(h5.RegionReference), nil
		}
		return h5.ReferenceType(h5.StandardReference), nil
	case h5file.EnumClass:
		d.Class = h5.Enum
		if err = base(); err != nil {
			break
		}
		for _, m := range t.Members {
			d.Members = append(d.Members, h5.Member{Name: m.Name, Value: enumValue(t.Base, m.Value)})
		}
	case h5file.VLenClass:
		if t.VariableString() {
			return h5.Datatype{Class: h5.String, Variable: true, Pad: h5.StringPad(t.StringPad()), CharSet: h5.CharSet(t.CharSet())}, nil
		}
		err = base()
		if d.Base != nil {
			d = h5.SequenceOf(*d.Base)
		}
	case h5file.ArrayClass:
		d.Class = h5.Array
		err = base()
		for _, n := range t.Dims {
			d.Dims = append(d.Dims, int64(n))
		}
		if d.Base != nil {
			d = h5.ArrayOf(*d.Base, d.Dims...)
		}
	default:
		err = fmt.Errorf("%w: elements of %v", errors.ErrUnsupported, t)
	}
	return d, err
}

func enumValue(t *h5file.Datatype, b []byte) int64 {
	b = slices.Clone(b)
	if t.Order() == h5file.BigEndian {
		slices.Reverse(b)
	}
	fill := byte(0)
	if t.Signed() && len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		fill = 0xFF
	}
	for len(b) < 8 {
		b = append(b, fill)
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// resize moves the members of a compound that follow members whose size in memory differs from the
// size in the file (H5T_set_loc).
func resize(d *h5.Datatype, t *h5file.Datatype) {
	order := make([]int, len(t.Members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Members[a].Offset, t.Members[b].Offset) })
	more := 0
	for _, i := range order {
		d.Members[i].Offset += more
		more += d.Members[i].Type.InMemory() - int(t.Members[i].Type.Size)
	}
	d.Size += more
}

// Filters converts the filters of a pipeline, which may be nil.
func Filters(l *h5file.Pipeline) []h5.Filter {
	if l == nil {
		return nil
	}
	out := make([]h5.Filter, len(l.Filters))
	for i, f := range l.Filters {
		out[i] = h5.Filter{ID: int(f.ID), Name: f.Name, Optional: f.Optional, Values: slices.Clone(f.Values)}
	}
	return out
}
