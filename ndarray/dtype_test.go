package ndarray_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
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

func TestParseDTypeRefuses(t *testing.T) {
	for _, s := range []string{
		"", "<", "f", "<f", "<f3", "<f16", "<i3", "<i16", "<c4", "|i4", "|f8", "|U5", "|b2", "b0", "S0", "U0", "V0", "S-1", "S+1",
		"S5 ", " S5", "x8", "<x8", "<<f8", "float80", "float128", "object", "O", "|O", "<M8[ns]", "<m8", "S99999999999",
		"U536870912", "S2147483648", "[('a', '<i4')]", "<f8\x00", "double", "i", "?",
	} {
		_, err := ndarray.ParseDType(s)
		require.ErrorIs(t, err, ndarray.ErrType, "%q", s)
		if s != "" {
			require.ErrorContains(t, err, s[:1], "%q", s)
		}
	}
}

func TestDTypeTextRoundTrip(t *testing.T) {
	for _, d := range ndarraytest.DTypes() {
		got, err := ndarray.ParseDType(d.String())
		require.NoError(t, err, "%v", d)
		d.Pad, d.CharSet = ndarray.NullPad, ndarray.ASCII // not in the text
		require.True(t, d.Equal(got), "%v", d)
	}
}

func TestDTypeValidateRefuses(t *testing.T) {
	for _, d := range []ndarray.DType{
		{},
		{Kind: ndarray.Int, Size: 4},
		{Kind: ndarray.Int, Size: 4, Order: ndarray.NoOrder},
		{Kind: ndarray.Int, Size: 1, Order: ndarray.Little},
		{Kind: ndarray.Float, Size: 16, Order: ndarray.Little},
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
	all := ndarraytest.DTypes()
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

// Swapping turns the bytes of every number round, alone and in its place.
func TestSwapBytesAgainstModel(t *testing.T) {
	units := map[string]int{"|b1": 1, "|i1": 1, "|u1": 1, "<c8": 4, "<c16": 8, "<U3": 4, "|S5": 1, "|V3": 1}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(ndarraytest.DTypes()).Draw(t, "dtype")
		unit, ok := units[d.String()]
		if !ok {
			switch {
			case d.Kind == ndarray.Complex:
				unit = d.Size / 2
			case d.Kind == ndarray.Unicode:
				unit = 4
			case d.Kind == ndarray.Bytes || d.Kind == ndarray.Void:
				unit = 1
			default:
				unit = d.Size
			}
		}
		n := rapid.IntRange(0, 40).Draw(t, "elements") * d.Size
		b := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes")
		want := bytes.Clone(b)
		for i := 0; i < len(want); i += unit {
			slices.Reverse(want[i : i+unit])
		}
		got := bytes.Clone(b)
		d.SwapBytes(got)
		require.Equal(t, want, got, "%v", d)
		d.SwapBytes(got)
		require.Equal(t, b, got, "%v twice", d)

		d.ToNative(got)
		if d.IsNative() {
			want = b
		}
		require.Equal(t, want, got, "%v to native", d)
	})
}

func TestToNativeOfKnownBytes(t *testing.T) {
	b := []byte{0x01, 0x02, 0x03, 0x04, 0xff, 0xff, 0xff, 0xfe}
	dtype(t, ">i4").ToNative(b)
	require.Equal(t, uint32(0x01020304), binary.NativeEndian.Uint32(b))
	require.Equal(t, int32(-2), int32(binary.NativeEndian.Uint32(b[4:])))
}

func FuzzParseDType(f *testing.F) {
	for _, s := range []string{"<f8", "|S5", "U5", "bool", "|O", "<M8[ns]", "V0", "[('a', '<i4')]", "S999999999999"} {
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

func BenchmarkSwapBytes(b *testing.B) {
	for _, s := range []string{">i2", ">f4", ">f8", ">c16"} {
		b.Run("dtype="+s, func(b *testing.B) {
			d, buf := dtype(b, s), make([]byte, 1<<20)
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				d.SwapBytes(buf)
			}
		})
	}
}
