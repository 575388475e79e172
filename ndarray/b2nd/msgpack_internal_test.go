package b2nd

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

// The bytes are those of msgpack.packb(value, use_bin_type=True).
func TestMsgpackBytes(t *testing.T) {
	long := strings.Repeat("x", 40)
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "\xc0"}, {false, "\xc2"}, {true, "\xc3"},
		{int64(0), "\x00"}, {int64(127), "\x7f"}, {int64(128), "\xcc\x80"}, {int64(255), "\xcc\xff"}, {int64(256), "\xcd\x01\x00"},
		{int64(65536), "\xce\x00\x01\x00\x00"}, {int64(1 << 32), "\xcf\x00\x00\x00\x01\x00\x00\x00\x00"},
		{int64(-1), "\xff"}, {int64(-32), "\xe0"}, {int64(-33), "\xd0\xdf"}, {int64(-129), "\xd1\xff\x7f"},
		{int64(-32769), "\xd2\xff\xff\x7f\xff"}, {int64(math.MinInt64), "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"},
		{uint64(math.MaxUint64), "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"},
		{1.5, "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"},
		{"", "\xa0"}, {"abc", "\xa3abc"}, {long, "\xd9\x28" + long},
		{[]byte{}, "\xc4\x00"}, {[]byte{1, 2}, "\xc4\x02\x01\x02"},
		{[]any{}, "\x90"}, {[]any{int64(1), "a"}, "\x92\x01\xa1a"},
		{pairs{{"k", int64(1)}}, "\x81\xa1k\x01"},
	} {
		require.Equal(t, []byte(c.want), appendMsgpack(nil, c.v), "%v", c.v)
		got, err := parseMsgpack([]byte(c.want))
		require.NoError(t, err)
		require.Equal(t, c.v, got)
	}
}

func TestMsgpackLongForms(t *testing.T) {
	for _, n := range []int{31, 32, 255, 256, 65535, 65536} {
		text := strings.Repeat("x", n)
		list := make([]any, n)
		m := make(pairs, n)
		for i := range n {
			list[i], m[i] = int64(i%100), pair{int64(i), true}
		}
		for _, v := range []any{text, []byte(text), list, m} {
			got, err := parseMsgpack(appendMsgpack(nil, v))
			require.NoError(t, err)
			require.Equal(t, v, got)
		}
	}
	// Forms that Python does not choose are read all the same.
	for in, want := range map[string]any{
		"\xd0\x05": int64(5), "\xd3\x00\x00\x00\x00\x00\x00\x00\x07": int64(7), "\xca\x3f\xc0\x00\x00": float32(1.5),
		"\xdb\x00\x00\x00\x01a": "a", "\xc6\x00\x00\x00\x01a": []byte("a"), "\xdd\x00\x00\x00\x01\x05": []any{int64(5)},
		"\xdf\x00\x00\x00\x00": pairs{}, "\xd4\x2aX": ext{42, []byte("X")}, "\xc7\x03\xffabc": ext{-1, []byte("abc")},
		"\xd8\x2b0123456789abcdef": ext{43, []byte("0123456789abcdef")},
	} {
		got, err := parseMsgpack([]byte(in))
		require.NoError(t, err, "%x", in)
		require.Equal(t, want, got, "%x", in)
	}
}

func TestMsgpackRefuses(t *testing.T) {
	for _, in := range []string{
		"", "\xc1", "\x01\x02", "\xa3ab", "\xd9", "\xd9\x05ab", "\xdb\xff\xff\xff\xffa", "\xa1\xff",
		"\x92\x01", "\xdc\xff\xff\x01", "\xdd\xff\xff\xff\xff\x01", "\x81\x01", "\xdf\xff\xff\xff\xff\x01\x02",
		"\xcb\x00", "\xcf\x00", "\xd4\x01", "\xc7\x05\x01a", "\xc9\xff\xff\xff\xff\x01",
		strings.Repeat("\x91", 100) + "\x01",
	} {
		_, err := parseMsgpack([]byte(in))
		require.ErrorIs(t, err, errMsgpack, "%x", in)
	}
}

// What stands alone comes back with its type, to the last bit; and natural types
// come back even without.
func TestPlainRoundTrip(t *testing.T) {
	dtypes := []string{"|b1", "|i1", "<i2", ">i4", "<i8", "|u1", "<u2", ">u4", "<u8", "<f4", "<f8", ">f8", "|S4", "<U3", "|V2", "<f2", "<c16"}
	rapid.Check(t, func(t *rapid.T) {
		d, err := ndarray.ParseDType(rapid.SampledFrom(dtypes).Draw(t, "dtype"))
		require.NoError(t, err)
		shape := rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 3).Draw(t, "shape")
		n, _ := ndarray.Product(shape)
		size := int(n) * d.Size
		data := rapid.SliceOfN(rapid.ByteRange(0, 255), size, size).Draw(t, "data")
		v := ndarray.Value{DType: d, Shape: shape, Data: data}
		plain, alone := toPlain(v)
		if !alone {
			require.NotContains(t, []string{"|i1", "<i2", ">i4", "<i8", "|u1", "<u2", ">u4", "<u8", "<f8", ">f8", "|V2"}, d.String(),
				"integers, doubles and bytes always stand alone")
			return
		}
		parsed, err := parseMsgpack(appendMsgpack(nil, plain))
		require.NoError(t, err)
		back, ok := fromPlain(parsed, d, shape)
		require.True(t, ok)
		require.True(t, v.Equal(back), "%v, got %v", v, back)
	})
}

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
		{list(tupleMark, i(1), i(2)), "<i8", []int64{2}, "[1 2]"},
		{list(list(), list()), "<f8", []int64{2, 0}, "[[] []]"},
	} {
		v, err := natural(c.plain)
		require.NoError(t, err, "%v", c.plain)
		require.Equal(t, c.dtype, strings.Replace(v.DType.String(), ">", "<", 1), "%v", c.plain)
		require.Equal(t, c.shape, v.Shape, "%v", c.plain)
		require.Equal(t, c.text, v.String())
	}
	for _, plain := range []any{
		nil, pairs{}, ext{42, nil}, list(i(1), "a"), list(i(1), list(i(2))), list(list(i(1)), i(2)),
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
	v := func(rest ...pair) []byte { return appendMsgpack(nil, append(pairs{{"version", int64(1)}}, rest...)) }
	for _, b := range [][]byte{
		nil, {0xc0}, {0x80}, appendMsgpack(nil, pairs{{"fill", []byte{1}}}), good[:len(good)-1],
		v(pair{"later", true}), v(pair{"fill", "text"}), v(pair{"maxshape", []any{int64(-2)}}), v(pair{"null", int64(1)}),
		v(pair{"dtype", "<f8"}), v(pair{"dtype", []any{"<f8", int64(9), int64(0)}}), v(pair{"dtype", []any{"what", int64(0), int64(0)}}),
		v(pair{"attrs", []any{[]any{"a"}}}),
		v(pair{"attrs", []any{[]any{"a", []any{"|i1", int64(0), int64(0)}, []any{int64(3)}, []byte{1}}}}),
		v(pair{"attrs", []any{[]any{"a", []any{"|i1", int64(0), int64(0)}, []any{int64(1 << 62), int64(1 << 62)}, []byte{1}}}}),
		v(pair{int64(1), true}), v(pair{pairs{}, true}),
	} {
		_, err := parseRecord(b)
		require.ErrorIs(t, err, errRecord, "%x", b)
	}
	_, err = parseRecord(appendMsgpack(nil, pairs{{"version", int64(2)}}))
	require.ErrorContains(t, err, "version 2")
	require.NotErrorIs(t, err, errRecord)
}

func FuzzParseMsgpack(f *testing.F) {
	f.Add([]byte("\x93\x01\xa1a\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x81\xa1k\xc4\x02ab"))
	f.Add([]byte("\xdd\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseMsgpack(b)
		if err != nil {
			require.ErrorIs(t, err, errMsgpack)
			return
		}
		if value, err := natural(v); err == nil {
			require.NoError(t, value.Validate())
		}
	})
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
