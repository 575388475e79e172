package ndarray_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

func element(v any) []byte {
	b, err := binary.Append(nil, binary.NativeEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

func TestFormatElement(t *testing.T) {
	unicode := func(r ...rune) []byte { return element(r) }
	for _, c := range []struct {
		dtype string
		b     []byte
		want  string
	}{
		{"bool", []byte{0}, "false"},
		{"bool", []byte{1}, "true"},
		{"bool", []byte{7}, "true (0x07)"},
		{"i1", []byte{0x80}, "-128"},
		{"i2", element(int16(-32768)), "-32768"},
		{"i4", element(int32(-1)), "-1"},
		{"i8", element(int64(math.MinInt64)), "-9223372036854775808"},
		{"i8", element(int64(1<<53 + 1)), "9007199254740993"},
		{"u1", []byte{255}, "255"},
		{"u2", element(uint16(65535)), "65535"},
		{"u4", element(uint32(4294967295)), "4294967295"},
		{"u8", element(uint64(math.MaxUint64)), "18446744073709551615"},
		{"f2", element(uint16(0x3c00)), "1"},
		{"f2", element(uint16(0x7bff)), "65504"},
		{"f2", element(uint16(0x0001)), "5.9604645e-08"},
		{"f2", element(uint16(0x8000)), "-0"},
		{"f2", element(uint16(0xfc00)), "-Inf"},
		{"f2", element(uint16(0x7e00)), "NaN"},
		{"f2", element(uint16(0x7c01)), "NaN(0x7c01)"},
		{"f4", element(float32(0.1)), "0.1"},
		{"f8", element(0.1), "0.1"},
		{"f8", element(math.Nextafter(0.3, 1)), "0.30000000000000004"},
		{"f8", element(math.Copysign(0, -1)), "-0"},
		{"f8", element(math.Inf(1)), "+Inf"},
		{"f8", element(uint64(0x7ff8000000000000)), "NaN"},
		{"f8", element(uint64(0xfff8000000000001)), "NaN(0xfff8000000000001)"},
		{"c8", element(complex64(complex(1.5, -2))), "(1.5-2i)"},
		{"c16", element(complex(0.1, math.Inf(1))), "(0.1+Infi)"},
		{"c16", element(complex(-0.1, 2)), "(-0.1+2i)"},
		{"S5", []byte("ab\x00\x00\x00"), `"ab"`},
		{"S5", []byte("ab\x00c\x00"), `"ab\x00c"`},
		{"S2", []byte{0xff, '"'}, `"\xff\""`},
		{"U3", unicode('世', '"', 0), `"世\""`},
		{"U2", unicode(0, 'x'), `"\x00x"`},
		{"U1", unicode(0x110000), `"\U00110000"`},
		{"V3", []byte{1, 0xab, 0}, "0x01ab00"},
	} {
		require.Equal(t, c.want, ndarray.FormatElement(dtype(t, c.dtype), c.b), "%s % x", c.dtype, c.b)
	}
	padded := ndarray.DType{Kind: ndarray.Bytes, Size: 4, Order: ndarray.NoOrder, Pad: ndarray.SpacePad}
	require.Equal(t, `"a b"`, ndarray.FormatElement(padded, []byte("a b ")))
}

// TestFormat_floats checks that two float64 values with different bits have different strings.
func TestFormat_floats(t *testing.T) {
	d := dtype(t, "f8")
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint64().Draw(t, "bits")
		s := ndarray.FormatElement(d, element(bits))
		f := math.Float64frombits(bits)
		if math.IsNaN(f) {
			if s != "NaN" {
				require.Equal(t, fmt.Sprintf("NaN(0x%016x)", bits), s)
			}
			return
		}
		back, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		require.Equal(t, bits, math.Float64bits(back), s)
	})
}

// TestFloat16_Exact checks all 65536 float16 values against the definition: sign × frac × 2^exp.
func TestFloat16_Exact(t *testing.T) {
	d := dtype(t, "f2")
	for h := range 1 << 16 {
		exp, frac := h>>10&0x1f, float64(h&0x3ff)
		if exp == 0x1f {
			continue // infinities and NaN are in the table above
		}
		want := (1 + frac/1024) * math.Pow(2, float64(exp-15))
		if exp == 0 {
			want = frac / 1024 * math.Pow(2, -14)
		}
		if h >= 1<<15 {
			want = -want
		}
		got, err := strconv.ParseFloat(ndarray.FormatElement(d, element(uint16(h))), 32)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(want), math.Float64bits(float64(float32(got))), "%#04x", h)
	}
}

func TestValueString(t *testing.T) {
	for want, v := range map[string]ndarray.Value{
		"3":                   ndarray.Scalar(int32(3)),
		"[1 2 3]":             ndarray.Vector[int8](1, 2, 3),
		"[]":                  ndarray.Vector[int8](),
		`"a\nb"`:              ndarray.Text("a\nb"),
		"null":                {DType: ndarray.DTypeOf[int8](), Null: true},
		"invalid":             {DType: ndarray.DTypeOf[int8](), Shape: []int64{5}},
		"[[1 2] [3 4] [5 6]]": {DType: ndarray.DTypeOf[uint8](), Shape: []int64{3, 2}, Data: []byte{1, 2, 3, 4, 5, 6}},
		"[[] []]":             {DType: ndarray.DTypeOf[uint8](), Shape: []int64{2, 0}},
		`["x" ""]`: {
			DType: ndarray.Text("").DType, Shape: []int64{2}, Strings: []string{"x", ""},
		},
	} {
		require.Equal(t, want, v.String())
	}
}

// TestFormatElement_pad checks that bytes after the end of a string are not part of its text.
func TestFormatElement_pad(t *testing.T) {
	for pad, want := range map[ndarray.Pad]string{
		ndarray.NullPad: `"ab\x00c "`, ndarray.NullTerm: `"ab"`, ndarray.SpacePad: `"ab\x00c \x00"`,
	} {
		d := ndarray.DType{Kind: ndarray.Bytes, Size: 6, Order: ndarray.NoOrder, Pad: pad}
		require.Equal(t, want, ndarray.FormatElement(d, []byte("ab\x00c \x00")))
	}
}
