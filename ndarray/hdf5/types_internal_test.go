package hdf5

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
)

func TestTypes_roundTrip(t *testing.T) {
	texts := []ndarray.DType{
		{Kind: ndarray.String, Order: ndarray.NoOrder}, {Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: ndarray.UTF8},
	}
	for _, pad := range []ndarray.Pad{ndarray.NullPad, ndarray.NullTerm, ndarray.SpacePad} {
		for _, cs := range []ndarray.CharSet{ndarray.ASCII, ndarray.UTF8} {
			texts = append(texts, ndarray.DType{Kind: ndarray.Bytes, Size: 7, Order: ndarray.NoOrder, Pad: pad, CharSet: cs})
		}
	}
	for _, d := range append(ndarraytest.DTypes(), texts...) {
		dt, err := toDatatype(d)
		if strings.Contains(d.String(), "U") || strings.Contains(d.String(), "title") {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, dt.Validate(), "%v: the library can make it", d)
		require.Equal(t, d.Size, dt.Size)
		back, err := toDType(dt)
		require.NoError(t, err)
		require.True(t, d.Equal(back), "%v becomes %v becomes %v", d, dt, back)
	}
}

func TestTypes_ddl(t *testing.T) {
	for text, want := range map[string]string{
		"<i4": "H5T_STD_I32LE", ">u8": "H5T_STD_U64BE", "<f2": "H5T_IEEE_F16LE", ">f8": "H5T_IEEE_F64BE", "|i1": "H5T_STD_I8LE",
		"|b1":  `H5T_ENUM { H5T_STD_I8LE; "FALSE" 0; "TRUE" 1; }`,
		"<c16": `H5T_COMPOUND { H5T_IEEE_F64LE "r"; H5T_IEEE_F64LE "i"; }`,
		"|S5":  "H5T_STRING { STRSIZE 5; STRPAD H5T_STR_NULLPAD; CSET H5T_CSET_ASCII; CTYPE H5T_C_S1; }",
		"|V5":  `H5T_OPAQUE { OPAQUE_TAG ""; }`,
	} {
		d, err := ndarray.ParseDType(text)
		require.NoError(t, err)
		dt, err := toDatatype(d)
		require.NoError(t, err)
		require.Equal(t, want, dt.String())
	}
}

// TestTypes_refused checks that types that cannot be preserved exactly are rejected with their
// name.
func TestTypes_refused(t *testing.T) {
	i4, text := h5.Int(4, h5.LittleEndian), h5.VariableString(h5.ASCII)
	sequence := h5.Datatype{Class: h5.Sequence, Size: 16, Base: &i4}
	compound := func(size int, m ...h5.Member) h5.Datatype {
		return h5.Datatype{Class: h5.Compound, Size: size, Members: m}
	}
	narrow := h5.Int(4, h5.LittleEndian)
	narrow.Precision = 17
	shifted := h5.Uint(4, h5.LittleEndian)
	shifted.Precision, shifted.Offset = 12, 3
	odd := h5.IEEEFloat(4, h5.LittleEndian)
	odd.Layout.ExpBias = 126
	three := h5.Int(3, h5.LittleEndian)
	vax := h5.IEEEFloat(4, h5.VAX)
	for _, dt := range []h5.Datatype{
		narrow, shifted, odd, three, vax,
		{Class: h5.Bitfield, Size: 1, Precision: 8},
		{Class: h5.Time, Size: 4, Precision: 32},
		{Class: h5.Reference, Size: 8, Ref: h5.ObjectReference},
		sequence,
		{Class: h5.Array, Size: 24, Base: &narrow, Dims: []int64{6}},
		{Class: h5.Enum, Size: 4, Base: &narrow, Members: []h5.Member{{Name: "RED", Value: 0}}},
		{Class: h5.Enum, Size: 4, Base: &i4, Members: []h5.Member{{Name: "A", Value: 1}, {Name: "B", Value: 1}}},
		compound(4, h5.Member{Name: "r", Type: &narrow}),
		compound(24, h5.Member{Name: "n", Type: &i4}, h5.Member{Name: "s", Offset: 8, Type: &sequence}),
		compound(12, h5.Member{Name: "n", Type: &i4}, h5.Member{Name: "s", Offset: 4, Type: &text}),
		compound(4),
	} {
		_, err := toDType(dt)
		require.ErrorIs(t, err, errors.ErrUnsupported, "%v", dt)
		require.ErrorIs(t, err, ndarray.ErrType, "%v", dt)
		require.ErrorContains(t, err, dt.String())
	}
}

// TestTypes_similar checks that a structure similar to a complex number remains a structure, and
// that an enumeration similar to h5py's bool remains an enumeration.
func TestTypes_similar(t *testing.T) {
	i1, i4 := h5.Int(1, h5.LittleEndian), h5.Int(4, h5.LittleEndian)
	f4, f8, big := h5.IEEEFloat(4, h5.LittleEndian), h5.IEEEFloat(8, h5.LittleEndian), h5.IEEEFloat(8, h5.BigEndian)
	compound := func(size int, m ...h5.Member) h5.Datatype {
		return h5.Datatype{Class: h5.Compound, Size: size, Members: m}
	}
	for _, dt := range []h5.Datatype{
		{Class: h5.Enum, Size: 1, Base: &i1, Members: []h5.Member{{Name: "FALSE", Value: 1}, {Name: "TRUE", Value: 0}}},
		compound(8, h5.Member{Name: "r", Type: &i4}, h5.Member{Name: "i", Offset: 4, Type: &i4}),
		compound(12, h5.Member{Name: "r", Type: &f4}, h5.Member{Name: "i", Offset: 4, Type: &f8}),
		compound(16, h5.Member{Name: "i", Type: &f8}, h5.Member{Name: "r", Offset: 8, Type: &f8}),
		compound(16, h5.Member{Name: "re", Type: &f8}, h5.Member{Name: "im", Offset: 8, Type: &f8}),
		compound(16, h5.Member{Name: "r", Type: &f8}, h5.Member{Name: "i", Offset: 8, Type: &big}),
		compound(24, h5.Member{Name: "r", Type: &f8}, h5.Member{Name: "i", Offset: 16, Type: &f8}),
	} {
		d, err := toDType(dt)
		require.NoError(t, err, "%v", dt)
		require.Contains(t, []ndarray.Kind{ndarray.Struct, ndarray.Enum}, d.Kind, "%v", dt)
		back, err := toDatatype(d)
		require.NoError(t, err, "%v", dt)
		require.True(t, back.Equal(dt), "%v", dt)
	}
	// Types that would be read as another type must be rejected.
	for _, d := range []ndarray.DType{
		ndarray.EnumOf(ndarray.DTypeOf[int8](), ndarray.Member{Name: "FALSE"}, ndarray.Member{Name: "TRUE", Value: 1}),
		ndarray.StructOf(false, ndarray.Field{Name: "r", Type: ndarray.DTypeOf[float64]()}, ndarray.Field{Name: "i", Type: ndarray.DTypeOf[float64]()}),
		{Kind: ndarray.Void, Size: 8, Order: ndarray.NoOrder, Tag: "NUMPY:<M8[ns]"},
	} {
		_, err := toDatatype(d)
		require.ErrorIs(t, err, errors.ErrUnsupported, "%v", d)
	}
}
