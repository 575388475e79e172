package ndarray_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestParseDType(t *testing.T) {
	native := string(rune(ndarray.NativeOrder))
	for _, c := range []struct{ text, want string }{
		{"<f8", "<f8"}, {">f8", ">f8"}, {"f8", native + "f8"}, {"=f8", native + "f8"}, {"<f2", "<f2"},
		{"|b1", "|b1"}, {"<b1", "|b1"}, {"b1", "|b1"}, {"|i1", "|i1"}, {">i1", "|i1"}, {"u1", "|u1"},
		{">i4", ">i4"}, {"<u8", "<u8"}, {"<c8", "<c8"}, {">c16", ">c16"}, {"c16", native + "c16"},
		{"|S5", "|S5"}, {"S5", "|S5"}, {"<S5", "|S5"}, {"<U5", "<U5"}, {">U1", ">U1"}, {"|V8", "|V8"}, {"V300", "|V300"},
		{"bool", "|b1"}, {"int8", "|i1"}, {"uint8", "|u1"}, {"int32", native + "i4"}, {"float16", native + "f2"},
		{"float64", native + "f8"}, {"complex64", native + "c8"}, {"complex128", native + "c16"}, {"string", "string"},
	} {
		d, err := ndarray.ParseDType(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, d.String(), c.text)
		require.NoError(t, d.Validate(), c.text)
	}
}

func TestParseDType_invalid(t *testing.T) {
	for _, s := range []string{
		"", "<", "f", "<f", "<f3", "<f24", "<i3", "<i16", "<c4", "|i4", "|f8", "|U5", "|b2", "b0", "S0", "U0", "V0", "S-1", "S+1",
		"S5 ", " S5", "x8", "<x8", "<<f8", "float80", "object", "O", "|O", "<M4", "|M8", "<M8[]", "<M8[0s]", "<M8[xs]", "<M8[ns", "M8[s", "S99999999999",
		"U536870912", "S2147483648", "<f8\x00", "double", "i", "<float64", "[]", "[1]", "[('a',)]", "[('a', 'O')]", "[('a', '<i4'), ('a', '<i4')]",
		"[('a', '<i4', (0,))]", "[('a', '<i4', (2, -1))]", "[('a', '<i4', 'x')]", "[(('t',), '<i4')]", "[('a', '<i4')] ]", "[('a', 'string'), ('a', '<i4')]",
		"sequence()", "sequence('O')", "sequence('<i4'", "sequence('<i4', 2)", "reference('x')", "reference(1)", "('string', (0,))",
		"{'names': ['a'], 'formats': ['string'], 'offsets': [4]}", "{'names': ['a'], 'formats': ['string'], 'itemsize': 8}",
		"{}", "{'names': ['a'], 'formats': []}", "{'names': ['a']}", "{'names': ['a'], 'formats': ['i4'], 'offsets': [-1]}",
		"{'names': ['a'], 'formats': ['i4'], 'itemsize': 3}", "{'names': ['a', 'b'], 'formats': ['i4', 'i4'], 'offsets': [0, 3]}",
		"{'names': ['a'], 'formats': ['i4'], 'colour': 1}", "{'a': ('i4', 0)}", "('<i4', (2000000000, 2))", "[('a', '<i4', (2147483647, 2147483647, 16))]",
		"enum('<f4', {})", "enum('<i2', {'A': 40000})", "enum('u1', {'A': -1})", "enum('<i4', {'A': 1, 'B': 1})", "enum()",
		strings.Repeat("[('a', ", 40) + "'i4'" + strings.Repeat(")]", 40), strings.Repeat("[", 100000),
	} {
		_, err := ndarray.ParseDType(s)
		require.ErrorIs(t, err, ndarray.ErrType, "%q", s)
		if s != "" {
			require.ErrorContains(t, err, s[:1], "%q", s)
		}
	}
}

func TestDType_textRoundTrip(t *testing.T) {
	for _, d := range samples.DTypes() {
		got, err := ndarray.ParseDType(d.String())
		require.NoError(t, err, "%v", d)
		bare := d.MapParts(func(p ndarray.DType) ndarray.DType {
			p.Pad, p.CharSet, p.Tag = ndarray.NullPad, ndarray.ASCII, "" // not part of the string
			return p
		})
		require.True(t, bare.Equal(got), "%v", d)
		require.Equal(t, d.String(), got.String())
	}
}

// recursive returns a sequence of sequences, to a depth.
func recursive(depth int) ndarray.DType {
	d := ndarray.DTypeOf[int8]()
	for range depth {
		base := d
		d = ndarray.DType{Kind: ndarray.VLen, Order: ndarray.NoOrder, Base: &base}
	}
	return d
}

func TestDType_invalid(t *testing.T) {
	for _, d := range []ndarray.DType{
		{},
		{Kind: ndarray.Int, Size: 4},
		{Kind: ndarray.Int, Size: 4, Order: ndarray.NoOrder},
		{Kind: ndarray.Int, Size: 1, Order: ndarray.Little},
		{Kind: ndarray.Float, Size: 10, Order: ndarray.Little},
		{Kind: ndarray.BFloat, Size: 4, Order: ndarray.Little},
		{Kind: ndarray.Int, Size: 4, Order: ndarray.Little, Unit: ndarray.TimeUnit{Name: "s", Count: 1}},
		{Kind: ndarray.DateTime, Size: 8, Order: ndarray.Little, Unit: ndarray.TimeUnit{Name: "s"}},
		{Kind: ndarray.DateTime, Size: 8, Order: ndarray.Little, Unit: ndarray.TimeUnit{Count: 1}},
		{Kind: ndarray.Bytes, Size: 4, Order: ndarray.NoOrder, Tag: "x"},
		{Kind: ndarray.Struct, Size: 4, Order: ndarray.NoOrder},
		{Kind: ndarray.SubArray, Size: 4, Order: ndarray.NoOrder, Dims: []int64{4}},
		{Kind: ndarray.Enum, Size: 4, Order: ndarray.NoOrder},
		ndarray.SubArrayOf(ndarray.DTypeOf[int32]()), ndarray.SubArrayOf(ndarray.DTypeOf[int32](), 1<<40),
		ndarray.EnumOf(ndarray.DTypeOf[float32]()), ndarray.EnumOf(ndarray.DTypeOf[int32](), ndarray.Member{}),
		ndarray.StructOf(false, ndarray.Field{Type: ndarray.DTypeOf[int32]()}),
		ndarray.StructOf(false, ndarray.Field{Name: "a", Title: "a", Type: ndarray.DTypeOf[int32]()}),
		{Kind: ndarray.Struct, Size: 8, Order: ndarray.NoOrder, Fields: []ndarray.Field{{Name: "a", Type: ndarray.Text("").DType}, {Name: "b", Type: ndarray.DTypeOf[int64]()}}},
		{Kind: ndarray.VLen, Order: ndarray.NoOrder},
		{Kind: ndarray.VLen, Size: 16, Order: ndarray.NoOrder, Base: &ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder}},
		{Kind: ndarray.Reference, Order: ndarray.NoOrder, Tag: "attribute"},
		recursive(40),
		{Kind: ndarray.Unicode, Size: 6, Order: ndarray.Little},
		{Kind: ndarray.Bytes, Size: -1, Order: ndarray.NoOrder},
		{Kind: ndarray.String, Size: 1, Order: ndarray.NoOrder},
		{Kind: ndarray.Void, Size: 1, Order: ndarray.NoOrder, Pad: ndarray.SpacePad},
		{Kind: ndarray.Int, Size: 1, Order: ndarray.NoOrder, CharSet: ndarray.UTF8},
		{Kind: ndarray.Bytes, Size: 1, Order: ndarray.NoOrder, CharSet: 9},
		{Kind: 77, Size: 1, Order: ndarray.NoOrder},
	} {
		require.ErrorIs(t, d.Validate(), ndarray.ErrType, "%+v", d)
	}
}

func TestDTypeEqual(t *testing.T) {
	all := samples.DTypes()
	for i, d := range all {
		for j, o := range all {
			require.Equal(t, i == j, d.Equal(o), "%v and %v", d, o)
			if d.EqualValues(o) {
				require.True(t, d.Native().Equal(o.Native()), "%v and %v", d, o)
			}
		}
		require.True(t, d.Native().IsNative(), "%v", d)
	}
}

// swapModel swaps the bytes of every number of one element, or only of those that are not in native
// order. It is deliberately simple, so that it does not have the same bugs as SwapBytes.
func swapModel(d ndarray.DType, b []byte) {
	unit := d.Size
	switch d.Kind {
	case ndarray.Enum:
		swapModel(*d.Base, b)
		return
	case ndarray.SubArray:
		for i := 0; i < len(b); i += d.Base.Size {
			swapModel(*d.Base, b[i:i+d.Base.Size])
		}
		return
	case ndarray.Struct:
		for _, f := range d.Fields {
			swapModel(f.Type, b[f.Offset:f.Offset+f.Type.Size])
		}
		return
	case ndarray.Bool, ndarray.Bytes, ndarray.Void:
		return
	case ndarray.Complex:
		unit = d.Size / 2
	case ndarray.Unicode:
		unit = 4
	}
	if d.IsNative() {
		return
	}
	for i := 0; i < len(b); i += unit {
		slices.Reverse(b[i : i+unit])
	}
}

// TestDType_ToNative checks that the bytes of every number in the other byte order are reversed,
// and that the rest stays.
func TestDType_ToNative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := samples.DrawDType(t)
		n := rapid.IntRange(0, 20).Draw(t, "elements") * d.Size
		b := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes")
		native := bytes.Clone(b)
		for i := 0; i < n; i += d.Size {
			swapModel(d, native[i:i+d.Size])
		}
		got := bytes.Clone(b)
		d.ToNative(got)
		require.Equal(t, native, got, "%v to native", d)
		d.ToNative(got)
		require.Equal(t, b, got, "%v and back", d)
	})
}

// TestDTypeProperties checks that any type is valid, equal to itself, and the same after parsing
// its string.
func TestDTypeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := samples.DrawDType(t)
		require.NoError(t, d.Validate(), "%v", d)
		require.True(t, d.Equal(d))
		require.True(t, d.EqualValues(d.Native()))
		require.True(t, d.Native().IsNative())
		require.Equal(t, d.IsNative(), d.Equal(d.Native()))
		require.Equal(t, d.Size, d.NumPy().Size)
		got, err := ndarray.ParseDType(d.NumPy().String())
		require.NoError(t, err)
		require.True(t, d.NumPy().Equal(got), "%v", d)
		require.Equal(t, d.NumPy().String(), got.String())
		ndarray.FormatElement(d, make([]byte, d.Size))
	})
}

func TestToNative_bytes(t *testing.T) {
	b := []byte{0x01, 0x02, 0x03, 0x04, 0xff, 0xff, 0xff, 0xfe}
	dtype(t, ">i4").ToNative(b)
	require.Equal(t, uint32(0x01020304), binary.NativeEndian.Uint32(b))
	require.Equal(t, int32(-2), int32(binary.NativeEndian.Uint32(b[4:])))
}

// TestParseDType_invalidUTF8 checks names with bytes that are not UTF-8.
func TestParseDType_invalidUTF8(t *testing.T) {
	d := ndarray.StructOf(false, ndarray.Field{Name: "t\xb6", Title: "\xff\u00e9", Type: ndarray.DTypeOf[int32]()})
	require.Equal(t, `[(('\udcffé', 't\udcb6'), '<i4')]`, d.String())
	again, err := ndarray.ParseDType(d.String())
	require.NoError(t, err)
	require.True(t, d.Equal(again))
	_, err = ndarray.ParseDType(`[('\ud800', '<i4')]`)
	require.ErrorIs(t, err, ndarray.ErrType)
	require.ErrorContains(t, err, `surrogate \ud800, want`)
}

func FuzzParseDType(f *testing.F) {
	for _, s := range []string{"<f8", "|S5", "U5", "bool", "|O", "<M8[ns]", "V0", "S999999999999",
		"[('a', '<i4'), (('t', 'b'), '>f8', (2,)), ('c', [('d', '<M8[25s]')])]", "[('a\xb6', '<i4'), ('\xc3\x28', 'V2')]", "('<f8', (2, 3))", "enum('<i2', {'A': 1})",
		"{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'offsets': [0, 8], 'titles': [None, 't'], 'itemsize': 16, 'aligned': True}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ndarray.ParseDType(s)
		if err != nil {
			require.ErrorIs(t, err, ndarray.ErrType)
			return
		}
		require.NoError(t, d.Validate())
		again, err := ndarray.ParseDType(d.String())
		require.NoError(t, err)
		require.True(t, d.Equal(again))
	})
}

func BenchmarkDType_ToNative(b *testing.B) {
	for _, s := range []string{">i2", ">f4", ">f8", ">c16"} {
		b.Run("dtype="+s, func(b *testing.B) {
			d, buf := dtype(b, s), make([]byte, 1<<20)
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				d.ToNative(buf)
			}
		})
	}
}
