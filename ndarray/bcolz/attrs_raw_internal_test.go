package bcolz

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

func TestRawOf(t *testing.T) {
	deep := strings.Repeat("[", 50) + strings.Repeat("]", 50)
	for _, tt := range []struct{ name, json, want string }{ // want is empty if MessagePack has no such value
		{"null", "null", "null"},
		{"list", `[1, -2, 2.5, "a", true, null, 18446744073709551615]`, `[1, -2, 2.5, "a", true, null, 18446744073709551615]`},
		{"object", `{"a": {"": [[], {}]}, "b": "\u00e9"}`, `{"a": {"": [[], {}]}, "b": "\u00e9"}`},
		{"floats", "[NaN, -Infinity, 1e-05, 1e400]", ""},
		{"special floats", "[NaN, -Infinity, 1e-05, 1.0]", "[NaN, -Infinity, 1e-05, 1.0]"},
		{"integer of 65 bits", `{"n": 18446744073709551616}`, ""},
		{"deep", deep, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attrs, err := bcolztree.ParseAttrs([]byte(`{"x": ` + tt.json + `}`))
			require.NoError(t, err)
			raw := rawOf(attrs[0].Value)
			if tt.want == "" {
				require.Nil(t, raw)
				return
			}
			v, err := jsonOfRaw(raw)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(v.Append(nil)))
		})
	}
}

func TestJSONOfRaw_errors(t *testing.T) {
	for name, v := range map[string]any{
		"bytes":         []byte{1},
		"integer key":   msgpack.Map{{Key: int64(1), Value: nil}},
		"duplicate key": []any{msgpack.Map{{Key: "a", Value: nil}, {Key: "a", Value: nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jsonOfRaw(msgpack.Append(nil, v))
			require.ErrorIs(t, err, errors.ErrUnsupported)
		})
	}
	_, err := jsonOfRaw([]byte{0x92, 0})
	require.Error(t, err)
}
