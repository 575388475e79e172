package msgpack_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// TestParse_Bytes compares the encoding with msgpack.packb(value, use_bin_type=True) of Python.
func TestParse_Bytes(t *testing.T) {
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
		{msgpack.Map{{"k", int64(1)}}, "\x81\xa1k\x01"},
	} {
		require.Equal(t, []byte(c.want), msgpack.Append(nil, c.v), "%v", c.v)
		got, err := msgpack.Parse([]byte(c.want))
		require.NoError(t, err)
		require.Equal(t, c.v, got)
	}
}

func TestParse_LongForms(t *testing.T) {
	for _, n := range []int{31, 32, 255, 256, 65535, 65536} {
		text := strings.Repeat("x", n)
		list := make([]any, n)
		m := make(msgpack.Map, n)
		for i := range n {
			list[i], m[i] = int64(i%100), msgpack.Pair{int64(i), true}
		}
		for _, v := range []any{text, []byte(text), list, m} {
			got, err := msgpack.Parse(msgpack.Append(nil, v))
			require.NoError(t, err)
			require.Equal(t, v, got)
		}
	}
	// Encodings that Python does not use are accepted too.
	for in, want := range map[string]any{
		"\xd0\x05": int64(5), "\xd3\x00\x00\x00\x00\x00\x00\x00\x07": int64(7), "\xca\x3f\xc0\x00\x00": float32(1.5),
		"\xdb\x00\x00\x00\x01a": "a", "\xc6\x00\x00\x00\x01a": []byte("a"), "\xdd\x00\x00\x00\x01\x05": []any{int64(5)},
		"\xdf\x00\x00\x00\x00": msgpack.Map{}, "\xd4\x2aX": msgpack.Ext{42, []byte("X")}, "\xc7\x03\xffabc": msgpack.Ext{-1, []byte("abc")},
		"\xd8\x2b0123456789abcdef": msgpack.Ext{43, []byte("0123456789abcdef")},
	} {
		got, err := msgpack.Parse([]byte(in))
		require.NoError(t, err, "%x", in)
		require.Equal(t, want, got, "%x", in)
	}
}

func TestParse_Errors(t *testing.T) {
	for _, in := range []string{
		"", "\xc1", "\x01\x02", "\xa3ab", "\xd9", "\xd9\x05ab", "\xdb\xff\xff\xff\xffa", "\xa1\xff",
		"\x92\x01", "\xdc\xff\xff\x01", "\xdd\xff\xff\xff\xff\x01", "\x81\x01", "\xdf\xff\xff\xff\xff\x01\x02",
		"\xcb\x00", "\xcf\x00", "\xd4\x01", "\xc7\x05\x01a", "\xc9\xff\xff\xff\xff\x01",
		strings.Repeat("\x91", 100) + "\x01",
	} {
		_, err := msgpack.Parse([]byte(in))
		var e *format.Error
		require.ErrorAs(t, err, &e, "%x", in)
	}
}

func TestParse_Depth(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat("\x91", n) + "\x01") }
	_, err := msgpack.Parse(deep(msgpack.MaxDepth))
	require.NoError(t, err)
	_, err = msgpack.Parse(deep(msgpack.MaxDepth + 1))
	require.ErrorIs(t, err, format.ErrLimit)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("\x93\x01\xa1a\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x81\xa1k\xc4\x02ab"))
	f.Add([]byte("\xdd\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := msgpack.Parse(b)
		if err != nil {
			var e *format.Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.True(t, json.Valid(msgpack.AppendJSON(nil, v)))
	})
}

func TestJSON(t *testing.T) {
	for content, want := range map[string]string{
		"\x82\xa1a\x01\xa1b\x92\xc0\xa1x":      `{"a":1,"b":[null,"x"]}`,
		"\x82\x01\x02\xa1b\xc3":                `{"map":[[1,2],["b",true]]}`,
		"\x82\xa1a\x01\xa1a\x02":               `{"map":[["a",1],["a",2]]}`,
		"\xc4\x02ab":                           `{"base64":"YWI="}`,
		"\xc7\x03\x2eabc":                      `{"ext":46,"base64":"YWJj"}`,
		"\xcf\xff\xff\xff\xff\xff\xff\xff\xff": `"18446744073709551615"`,
		"\xd3\x80\x00\x00\x00\x00\x00\x00\x00": `"-9223372036854775808"`,
		"\x93\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00\xca\x3d\xcc\xcc\xcd\x20": `["NaN",0.1,32]`,
	} {
		got, ok := msgpack.JSON([]byte(content))
		require.True(t, ok)
		require.Equal(t, want, string(got))
	}
	_, ok := msgpack.JSON([]byte("\xc1"))
	require.False(t, ok)
}
