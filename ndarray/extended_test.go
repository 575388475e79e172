package ndarray_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// extended returns an element of 16 bytes in the x87 format, in native order.
func extended(top uint16, mantissa uint64) []byte {
	b := make([]byte, 16)
	binary.LittleEndian.PutUint64(b, mantissa)
	binary.LittleEndian.PutUint16(b[8:], top)
	ndarray.DType{Kind: ndarray.Float, Size: 16, Order: ndarray.Little}.ToNative(b)
	return b
}

// TestFormatExtended compares with the numbers that C prints for a long double of the same bits.
func TestFormatExtended(t *testing.T) {
	d := dtype(t, "f16")
	for _, c := range []struct {
		top      uint16
		mantissa uint64
		want     string
	}{
		{0, 0, "0"}, {0x8000, 0, "-0"}, {0x3fff, 1 << 63, "1"}, {0xc000, 0xc9 << 56, "-3.140625"},
		{0x3ffb, 0xcccccccccccccccd, "0.1"}, {0x3fff, 1<<63 | 1, "1.0000000000000000001"},
		{0x7ffe, math.MaxUint64, "1.189731495357231765e+4932"}, {0, 1, "4e-4951"},
		{0x7fff, 1 << 63, "+Inf"}, {0xffff, 1 << 63, "-Inf"}, {0x7fff, 3 << 62, "NaN"}, {0xffff, 3 << 62, "NaN(0xffffc000000000000000)"},
	} {
		got := ndarray.FormatElement(d, extended(c.top, c.mantissa))
		require.Equal(t, c.want, got, "%04x %016x", c.top, c.mantissa)
	}
	z := append(extended(0x3fff, 1<<63), extended(0xbfff, 1<<63)...)
	require.Equal(t, "(1-1i)", ndarray.FormatElement(dtype(t, "c32"), z))
}

func TestFormat_partsAndTimes(t *testing.T) {
	for _, c := range []struct {
		dtype string
		b     []byte
		want  string
	}{
		{"bfloat16", element(uint16(0x3fc0)), "1.5"},
		{"bfloat16", element(uint16(0x7fc0)), "NaN"},
		{"M8[D]", element(int64(0)), "1970-01-01"},
		{"M8[D]", element(int64(-1)), "1969-12-31"},
		{"M8[2D]", element(int64(11016)), "2030-04-28"},
		{"M8[W]", element(int64(1)), "1970-01-08"},
		{"M8[Y]", element(int64(-1971)), "-001"},
		{"M8[M]", element(int64(-1)), "1969-12"},
		{"M8[h]", element(int64(-1)), "1969-12-31T23"},
		{"M8[m]", element(int64(61)), "1970-01-01T01:01"},
		{"M8[s]", element(int64(1 << 31)), "2038-01-19T03:14:08"},
		{"M8[25s]", element(int64(4)), "1970-01-01T00:01:40"},
		{"M8[ns]", element(int64(1e18 + 7)), "2001-09-09T01:46:40.000000007"},
		{"M8[as]", element(int64(-1)), "1969-12-31T23:59:59.999999999999999999"},
		{"M8[us]", element(int64(math.MinInt64)), "NaT"},
		{"M8[D]", element(int64(math.MaxInt64)), "9223372036854775807D"},
		{"M8", element(int64(5)), "5"},
		{"m8[ms]", element(int64(-5)), "-5ms"},
		{"m8[25s]", element(int64(5)), "125s"},
		{"m8", element(int64(math.MinInt64)), "NaT"},
		{"enum('i2', {'RED': 1, 'BLUE': -2})", element(int16(-2)), "BLUE"},
		{"enum('i2', {'RED': 1})", element(int16(9)), "9"},
		{"enum('u8', {'TOP': 18446744073709551615})", element(uint64(math.MaxUint64)), "TOP"},
		{"('i2', (2, 2))", element([]int16{1, 2, 3, 4}), "[[1 2] [3 4]]"},
		{"[('a', 'i1'), ('b', 'S2'), ('c', [('d', 'u2', (2,))])]", []byte{0xff, 'x', 0, 1, 1, 2, 2}, `{a: -1, b: "x", c: {d: [257 514]}}`},
	} {
		require.Equal(t, c.want, ndarray.FormatElement(dtype(t, c.dtype), c.b), "%s %x", c.dtype, c.b)
	}
}
