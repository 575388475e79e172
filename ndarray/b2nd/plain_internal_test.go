package b2nd

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestPlainRoundTrip checks that values stored as plain MessagePack are restored bit by bit.
// Integers, float64 values and opaque bytes must always be stored in this way.
func TestPlainRoundTrip(t *testing.T) {
	dtypes := []string{"|b1", "|i1", "<i2", ">i4", "<i8", "|u1", "<u2", ">u4", "<u8", "<f4", "<f8", ">f8", "|S4", "<U3", "|V2", "<f2", "<c16"}
	rapid.Check(t, func(t *rapid.T) {
		d, err := ndarray.ParseDType(rapid.SampledFrom(dtypes).Draw(t, "dtype"))
		require.NoError(t, err)
		shape := rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 3).Draw(t, "shape")
		n, _ := grid.Product(shape)
		size := int(n) * d.Size
		data := rapid.SliceOfN(rapid.ByteRange(0, 255), size, size).Draw(t, "data")
		v := ndarray.Value{DType: d, Shape: shape, Data: data}
		plain, alone := toPlain(v)
		if !alone {
			require.NotContains(t, []string{"|i1", "<i2", ">i4", "<i8", "|u1", "<u2", ">u4", "<u8", "<f8", ">f8", "|V2"}, d.String(),
				"integers, doubles and bytes always stand alone")
			return
		}
		parsed, err := msgpack.Parse(msgpack.Append(nil, plain))
		require.NoError(t, err)
		back, ok := fromPlain(parsed, d, shape)
		require.True(t, ok)
		require.True(t, v.Equal(back), "%v, got %v", v, back)
	})
}

func kv(key, value any) msgpack.Pair { return msgpack.Pair{Key: key, Value: value} }

func TestNaturalTypes(t *testing.T) {
	i, f, list := func(v int64) any { return v }, func(v float64) any { return v }, func(v ...any) any { return v }
	for _, c := range []struct {
		plain any
		dtype string
		shape []int64
		text  string
	}{
		{"text", "string", nil, `"text"`},
		{i(5), "<i8", nil, "5"},
		{uint64(math.MaxUint64), "<u8", nil, "18446744073709551615"},
		{f(1.5), "<f8", nil, "1.5"},
		{float32(0.5), "<f8", nil, "0.5"},
		{true, "|b1", nil, "true"},
		{[]byte("ab"), "|S2", nil, `"ab"`},
		{[]byte{}, "|S1", nil, `""`},
		{list(), "<f8", []int64{0}, "[]"},
		{list(i(1), i(-2)), "<i8", []int64{2}, "[1 -2]"},
		{list(i(1), f(2.5)), "<f8", []int64{2}, "[1 2.5]"},
		{list(i(1), uint64(1<<63)), "<u8", []int64{2}, "[1 9223372036854775808]"},
		{list("a", "b"), "string", []int64{2}, `["a" "b"]`},
		{list([]byte("a"), []byte("bc")), "|S2", []int64{2}, `["a" "bc"]`},
		{list(list(i(1), i(2)), list(i(3), i(4))), "<i8", []int64{2, 2}, "[[1 2] [3 4]]"},
		{list(msgpack.TupleMark, i(1), i(2)), "<i8", []int64{2}, "[1 2]"},
		{list(list(), list()), "<f8", []int64{2, 0}, "[[] []]"},
	} {
		v, err := natural(c.plain)
		require.NoError(t, err, "%v", c.plain)
		require.Equal(t, c.dtype, strings.Replace(v.DType.String(), ">", "<", 1), "%v", c.plain)
		require.Equal(t, c.shape, v.Shape, "%v", c.plain)
		require.Equal(t, c.text, v.String())
	}
	for _, plain := range []any{
		nil, msgpack.Map{}, msgpack.Ext{Kind: 42}, list(i(1), "a"), list(i(1), list(i(2))), list(list(i(1)), i(2)),
		list(list(i(1)), list(i(1), i(2))), list(i(-1), uint64(1<<63)), list(f(0.5), i(1<<53+1)), list(true, i(1)), list(nil),
	} {
		_, err := natural(plain)
		require.Error(t, err, "%v", plain)
	}
}

func TestRecordRefuses(t *testing.T) {
	good := (&record{fill: []byte{1}, maxShape: []int64{-1}, attrs: []recordAttr{{name: "a", value: ndarray.Scalar(int8(1))}}}).encode()
	r, err := parseRecord(good)
	require.NoError(t, err)
	require.Equal(t, good, r.encode())
	v := func(rest ...msgpack.Pair) []byte {
		return msgpack.Append(nil, append(msgpack.Map{kv("version", int64(1))}, rest...))
	}
	for _, b := range [][]byte{
		nil, {0xc0}, {0x80}, msgpack.Append(nil, msgpack.Map{kv("fill", []byte{1})}), good[:len(good)-1],
		v(kv("later", true)), v(kv("fill", "text")), v(kv("maxshape", []any{int64(-2)})), v(kv("null", int64(1))),
		v(kv("dtype", "<f8")), v(kv("dtype", []any{"<f8", int64(9), int64(0)})), v(kv("dtype", []any{"what", int64(0), int64(0)})),
		v(kv("attrs", []any{[]any{"a"}})),
		v(kv("attrs", []any{[]any{"a", []any{"|i1", int64(0), int64(0)}, []any{int64(3)}, []byte{1}}})),
		v(kv("attrs", []any{[]any{"a", []any{"|i1", int64(0), int64(0)}, []any{int64(1 << 62), int64(1 << 62)}, []byte{1}}})),
		v(kv(int64(1), true)), v(kv(msgpack.Map{}, true)),
	} {
		_, err := parseRecord(b)
		require.ErrorIs(t, err, errRecord, "%x", b)
	}
	_, err = parseRecord(msgpack.Append(nil, msgpack.Map{kv("version", int64(2))}))
	require.ErrorContains(t, err, "version 2")
	require.NotErrorIs(t, err, errRecord)
}

func FuzzParseRecord(f *testing.F) {
	f.Add((&record{}).encode())
	f.Add((&record{fill: []byte{1, 2}, null: true, maxShape: []int64{3, -1}}).encode())
	f.Add((&record{attrs: []recordAttr{
		{name: "a", value: ndarray.Vector(1.5, 2)}, {name: "b", value: ndarray.Text("x"), alone: true},
		{name: "c", value: ndarray.Value{DType: ndarray.DTypeOf[int8](), Null: true, Data: []byte{}}},
		{name: "\xff", value: ndarray.Text("\xfe")},
	}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err != nil {
			return
		}
		again, err := parseRecord(r.encode())
		require.NoError(t, err)
		require.True(t, bytes.Equal(r.encode(), again.encode()))
	})
}
