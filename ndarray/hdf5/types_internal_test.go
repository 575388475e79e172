package hdf5

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestTypes_roundTrip(t *testing.T) {
	strs := []ndarray.DType{
		{Kind: ndarray.String, Order: ndarray.NoOrder}, {Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: ndarray.UTF8},
	}
	for _, pad := range []ndarray.Pad{ndarray.NullPad, ndarray.NullTerm, ndarray.SpacePad} {
		for _, cs := range []ndarray.CharSet{ndarray.ASCII, ndarray.UTF8} {
			strs = append(strs, ndarray.DType{Kind: ndarray.Bytes, Size: 7, Order: ndarray.NoOrder, Pad: pad, CharSet: cs})
		}
	}
	for _, d := range append(samples.DTypes(), strs...) {
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
	i4 := h5.Int(4, h5.LittleEndian)
	compound := func(size int, m ...h5.Member) h5.Datatype {
		return h5.Datatype{Class: h5.Compound, Size: size, Members: m}
	}
	same := h5.Datatype{Class: h5.Enum, Size: 4, Base: &i4, Members: []h5.Member{{Name: "A", Value: 1}, {Name: "B", Value: 1}}}
	deep := i4
	for range 40 {
		deep = h5.SequenceOf(deep)
	}
	for _, dt := range []h5.Datatype{
		deep, h5.SequenceOf(same),
		{Class: h5.Enum, Size: 4, Base: &i4, Members: []h5.Member{{Name: "A", Value: 1}, {Name: "B", Value: 1}}},
		compound(4, h5.Member{Name: "r", Type: &same}),
		compound(4),
	} {
		_, err := toDType(dt)
		require.ErrorIs(t, err, errors.ErrUnsupported, "%v", dt)
		require.ErrorIs(t, err, ndarray.ErrType, "%v", dt)
		require.ErrorContains(t, err, dt.String())
	}
}

// unusualTypes returns datatypes whose elements have another form in memory, by their type there.
func unusualTypes() map[string]h5.Datatype {
	compound := func(size int, m ...h5.Member) h5.Datatype {
		return h5.Datatype{Class: h5.Compound, Size: size, Members: m}
	}
	i4, text := h5.Int(4, h5.LittleEndian), h5.VariableString(h5.UTF8)
	narrow, shifted, ones, odd := h5.Int(4, h5.LittleEndian), h5.Uint(4, h5.BigEndian), h5.Int(2, h5.BigEndian), h5.IEEEFloat(4, h5.LittleEndian)
	narrow.Precision = 17
	shifted.Precision, shifted.Offset = 12, 3
	ones.Precision, ones.Offset, ones.LowPad, ones.HighPad = 9, 2, h5.PadOne, h5.PadOne
	odd.Precision, odd.Offset = 20, 7
	odd.Layout = h5.FloatLayout{SignPos: 26, ExpPos: 20, ExpSize: 6, MantPos: 7, MantSize: 13, ExpBias: 31}
	eight := h5.Datatype{Class: h5.Float, Size: 1, Precision: 8, Layout: h5.FloatLayout{SignPos: 7, ExpPos: 3, ExpSize: 4, MantSize: 3, ExpBias: 7}}
	vax := h5.IEEEFloat(8, h5.VAX)
	vax.Layout = h5.FloatLayout{SignPos: 63, ExpPos: 55, ExpSize: 8, MantSize: 55, ExpBias: 129}
	bits := h5.Datatype{Class: h5.Bitfield, Size: 2, Precision: 16, Order: h5.BigEndian}
	time := h5.Datatype{Class: h5.Time, Size: 4, Precision: 32, Order: h5.BigEndian}
	colour := h5.Datatype{Class: h5.Enum, Size: 4, Base: &narrow, Members: []h5.Member{{Name: "RED", Value: -1}, {Name: "BLUE", Value: 7}}}
	sequence := h5.SequenceOf(i4)
	return map[string]h5.Datatype{
		"<i4": narrow, ">u4": shifted, ">i2": ones, "<f4": odd, "<f16": vax, ">u2": bits, ">M8[s]": time,
		"<f4 of one byte":                     eight,
		"enum('<i4', {'RED': -1, 'BLUE': 7})": colour,
		"('<i4', (6,))":                       h5.ArrayOf(narrow, 6),
		"|V16":                                h5.Int(16, h5.BigEndian),
		"[('a', '<f4'), ('b', '<i4')]":        compound(8, h5.Member{Name: "a", Type: &eight}, h5.Member{Name: "b", Offset: 4, Type: &narrow}),
		"sequence('<i4')":                     sequence,
		"sequence(\"sequence('<i4')\")":       h5.SequenceOf(sequence),
		"('string', (2, 3))":                  h5.ArrayOf(text, 2, 3),
		"[('n', '<i4'), ('s', 'string'), ('q', \"sequence('<i4')\")]": compound(40, h5.Member{Name: "n", Type: &i4},
			h5.Member{Name: "s", Offset: 8, Type: &text}, h5.Member{Name: "q", Offset: 24, Type: &sequence}),
		"reference('object')": h5.ReferenceType(h5.ObjectReference),
		"reference('region')": h5.ReferenceType(h5.RegionReference),
		"reference":           h5.ReferenceType(h5.StandardReference),
	}
}

func TestTypes_unusual(t *testing.T) {
	for text, dt := range unusualTypes() {
		t.Run(text, func(t *testing.T) {
			require.NoError(t, dt.Validate())
			d, err := toDType(dt)
			require.NoError(t, err)
			require.NoError(t, d.Validate())
			require.Equal(t, strings.TrimSuffix(text, " of one byte"), d.String())
			back, err := toDatatype(d)
			require.NoError(t, err)
			require.True(t, packed(dt).Equal(packed(back)), "%v becomes %v", dt, back)
		})
	}
	t.Run("invalid tags", func(t *testing.T) {
		for _, tag := range []string{"x", "integer", "integer size=4", "integer size=-4 bits=4 offset=0 pad=0,0", "bit field size=4 bits=99999999999 offset=0 pad=0,0", "HDF5:", "float size=4 bits=32 offset=0 pad=0,0"} {
			_, err := toDatatype(ndarray.DType{Kind: ndarray.Int, Size: 4, Order: ndarray.Little, Tag: tag})
			require.Error(t, err, tag)
		}
	})
}

// TestTypes_numbers checks that each number keeps its stored bytes.
func TestTypes_numbers(t *testing.T) {
	for text, dt := range unusualTypes() {
		d, err := toDType(dt)
		require.NoError(t, err)
		if d.Size == 0 {
			continue
		}
		t.Run(text, func(t *testing.T) {
			raw := make([]byte, 0, 64*dt.Size)
			for i := range 64 {
				stored := make([]byte, dt.Size)
				for k := range stored {
					stored[k] = byte(i*37 + k*11)
				}
				mem, _, err := new(values).loadAll(d, h5.Values{Datatype: dt, N: 1, Block: stored})
				require.NoError(t, err)
				require.Len(t, mem, d.Size)
				if strings.Contains(ndarray.FormatElement(d, mem), "NaN") {
					continue
				}
				v, err := new(values).storeAll(d, dt, mem, nil)
				require.NoError(t, err)
				again, _, err := new(values).loadAll(d, v)
				require.NoError(t, err)
				require.Equal(t, mem, again)
				raw = append(raw, v.Block[:dt.Size]...)
			}
			first, _, err := new(values).loadAll(d, h5.Values{Datatype: dt, N: len(raw) / dt.Size, Block: raw})
			require.NoError(t, err)
			second, err := new(values).storeAll(d, dt, first, nil)
			require.NoError(t, err)
			require.Equal(t, raw, second.Block[:len(raw)])
		})
	}
}

func TestTypes_overflow(t *testing.T) {
	types := unusualTypes()
	for _, c := range []struct {
		dt   h5.Datatype
		mem  []byte
		text string
	}{
		{types["<i4"], ndarray.Vector[int32](1, 65536).Data, "element 1: value does not fit: 65536 is not an integer of 17 bits"},
		{types[">u4"], ndarray.Vector[uint32](4096).Data, "element 0: value does not fit: 4096 is not an integer of 12 bits"},
		{types["<f4"], ndarray.Vector[float32](1, 0, 0.1).Data, "element 2"},
		{types[">M8[s]"], ndarray.Vector[int64](1 << 31).Data, "2038-01-19T03:14:08 is not an integer of 32 bits"},
	} {
		d, err := toDType(c.dt)
		require.NoError(t, err)
		_, err = new(values).storeAll(d, c.dt, c.mem, nil)
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, c.text)
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
