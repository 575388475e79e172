package jsonform_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
)

func f4(bits ...uint32) (b []byte) {
	for _, x := range bits {
		b = binary.NativeEndian.AppendUint32(b, x)
	}
	return b
}

func f8(bits uint64) []byte { return binary.NativeEndian.AppendUint64(nil, bits) }

const negativeZero = 1 << 63

func TestForm_Append(t *testing.T) {
	for _, c := range []struct {
		name, dtype                string
		b                          []byte
		document, literal, h5grove string
	}{
		{"negative zero", "<f8", f8(negativeZero), "-0.0", "-0.0", "-0.0"},
		{"negative zero of 4 bytes", "<f4", f4(1 << 31), "-0.0", "-0.0", "-0.0"},
		{"negative zero of 2 bytes", "<f2", []byte{0, 0x80}, "-0.0", "-0.0", "-0.0"},
		{"negative zero of 16 bytes", "<f16", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0}, "-0.0", "-0.0", "-0.0"},
		{"whole float", "<f8", f8(math.Float64bits(3)), "3", "3.0", "3.0"},
		{"large float", "<f8", f8(math.Float64bits(1e300)), "1e+300", "1e+300", "1e+300"},
		{"NaN", "<f8", f8(0x7ff8 << 48), `"NaN"`, `"NaN"`, "null"},
		{"payload of NaN", "<f4", f4(0xffc00001), `"NaN"`, `"NaN(0xffc00001)"`, "null"},
		{"infinity", "<f4", f4(0xff800000), `"-Infinity"`, `"-Infinity"`, "null"},
		{"complex", "<c8", f4(1<<31, 0x7fc00000), `[-0.0,"NaN"]`, `[-0.0,"NaN"]`, "[-0.0,null]"},
		{"large integer", "<i8", f8(1<<53 + 1), `"9007199254740993"`, "9007199254740993", "9007199254740993"},
		{"largest integer", "<u8", f8(math.MaxUint64), `"18446744073709551615"`, "18446744073709551615", "18446744073709551615"},
		{"text", "|S4", []byte("ab\x00\x00"), `"ab"`, `"ab"`, `"ab"`},
		{"no text", "|S4", []byte("\xff\xfe\x00\x00"), `{"base64":"//4="}`, `{"base64":"//4="}`, `"base64://4="`},
		{"text like bytes", "|S8", []byte("base64:x"), `"base64:x"`, `"base64:x"`, `"base64:YmFzZTY0Ong="`},
		{"replacement character", "|S3", []byte("\ufffd"), "\"\ufffd\"", "\"\ufffd\"", "\"\ufffd\""},
		{"code points", "<U2", f4('é', 0), `"é"`, `"é"`, `"é"`},
		{"surrogate", "<U2", f4(0xd800, 0), `{"base64":"ANgAAA=="}`, `{"base64":"ANgAAA=="}`, `"base64:ANgAAA=="`},
		{"escape of a surrogate", "<U6", f4('\\', 'u', 'd', '8', '0', '0'), `"\\ud800"`, `"\\ud800"`, `"\\ud800"`},
		{"string", "string", []byte("\xffa"), `{"base64":"/2E="}`, `{"base64":"/2E="}`, `"base64:/2E="`},
		{"opaque", "|V3", []byte{1, 2, 255}, `{"base64":"AQL/"}`, `{"base64":"AQL/"}`, `"base64:AQL/"`},
		{"time", "<M8[s]", f8(1), `"1970-01-01T00:00:01"`, "1", `"1970-01-01T00:00:01"`},
		{"no time", "<M8[s]", f8(1 << 63), `"NaT"`, `"NaT"`, `"NaT"`},
		{"enumeration", "enum('u1', {'A': 1})", []byte{1}, `"A"`, `"A"`, "1"},
		{"structure", "[('a', '<i4'), ('s', 'S2'), ('h', '<f2')]", []byte{1, 0, 0, 0, 0xff, 'a', 0, 0x80}, `{"a":1,"s":{"base64":"/2E="},"h":-0.0}`, `{"a":1,"s":{"base64":"/2E="},"h":-0.0}`, `[1,"base64:/2E=",-0.0]`},
		{"sub-array", "('<f2', (2,))", []byte{0, 0x80, 0, 0x7e}, `[-0.0,"NaN"]`, `[-0.0,"NaN"]`, "[-0.0,null]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := ndarray.ParseDType(c.dtype)
			require.NoError(t, err)
			require.Equal(t, c.document, string(jsonform.Document.Append(nil, d, c.b)))
			require.Equal(t, c.literal, string(jsonform.Literal.Append(nil, d, c.b)))
			require.Equal(t, c.h5grove, string(jsonform.H5grove.Append(nil, d, c.b)))
		})
	}
}

func TestName(t *testing.T) {
	require.Equal(t, "é", jsonform.Name("é"))
	require.Equal(t, `a\xffb`+"\ufffd", jsonform.Name("a\xffb\ufffd"))
}

func TestNamed(t *testing.T) {
	type inner struct {
		Name  string
		Value json.RawMessage
		lower string
	}
	text := "\xff"
	type doc struct {
		Names   []string
		Pointer *string
		Inner   []inner
		Any     any
		Members map[string]string
		Empty   []string
		Numbers []int
	}
	got := jsonform.Named(&doc{[]string{"a\xfe"}, &text, []inner{{"\xfd", json.RawMessage(`"é"`), "\xfc"}}, inner{Name: "\xfb"}, map[string]string{"\xfa": "\xf9"}, nil, []int{1}})
	shown := `\xff`
	require.Equal(t, &doc{[]string{`a\xfe`}, &shown, []inner{{`\xfd`, json.RawMessage(`"é"`), "\xfc"}}, inner{Name: `\xfb`}, map[string]string{`\xfa`: `\xf9`}, nil, []int{1}}, got)
	require.Equal(t, "\xff", text, "the document is not changed")
	require.Nil(t, jsonform.Named(nil))
}

func TestPlain(t *testing.T) {
	for dtype, c := range map[string]struct {
		b    []byte
		want string
	}{
		"<f8": {f8(negativeZero), "-0.0"}, "<i8": {f8(1<<63 - 1), "9223372036854775807"}, "|S3": {[]byte(`a"b`), `a"b`},
		"|S2": {[]byte{0xff, 0xfe}, `{"base64":"//4="}`}, "<f4": {f4(0x7fc00001), "NaN"}, "string": {[]byte("x\ny"), "x\ny"},
	} {
		d, err := ndarray.ParseDType(dtype)
		require.NoError(t, err)
		require.Equal(t, c.want, jsonform.Plain(d, c.b), dtype)
	}
}
