// Fuzz tests of the parsers of command-line arguments.

package shell

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
)

func requireUsage(t *testing.T, err error) {
	t.Helper()
	var u *usageError
	require.ErrorAs(t, err, &u)
}

// FuzzUnits checks that sizes, shapes and ranges are parsed to valid values, or result in an error
// that contains the argument.
func FuzzUnits(f *testing.F) {
	for _, s := range []string{"64KiB", "1.5GiB", "8EiB", "9EiB", "1..5G", "64,64", "2x3x4", "-1,100", "scalar", "-1,-1", "-10,10", "1e308,-1e308", "-1e308,1e308", "NaN,1", ".", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := term.ParseBytes(s); err == nil {
			require.GreaterOrEqual(t, n, int64(0))
		} else {
			require.ErrorContains(t, err, "is not a size in bytes")
		}
		if shape, err := term.ParseShape(s); err == nil {
			for _, n := range shape {
				require.Positive(t, n)
			}
		} else {
			require.ErrorContains(t, err, "is not a shape")
		}
		if shape, open, err := parseRawShape(s); err == nil {
			require.Less(t, open, len(shape))
			for i, n := range shape {
				require.True(t, n >= 0 || n == -1 && i == open, "%v, %d", shape, open)
			}
		} else {
			requireUsage(t, err)
		}
		if low, high, err := ParseRange(s); err == nil {
			require.Less(t, low, high)
			require.False(t, math.IsInf(high-low, 0))
		} else {
			requireUsage(t, err)
		}
	})
}

// FuzzAddress checks that splitting an address loses no characters.
func FuzzAddress(f *testing.F) {
	for _, where := range []string{"a.h5:/x[0, 10:20, ::-1]", "a.h5:/x[1][0]", "[0]", "a]]]", "]", "a", "a[0].b[1]"} {
		f.Add(where)
	}
	f.Fuzz(func(t *testing.T, where string) {
		location, selection := SplitSelection(where)
		require.Equal(t, where, location+selection)
		require.True(t, selection == "" || location != "" && selection[0] == '[', "%q", selection)
	})
}

// FuzzWriteJSON checks that the layout of a JSON document changes only white space, and that the
// document has the same values.
func FuzzWriteJSON(f *testing.F) {
	for _, s := range []string{"\"\x7f\u202e\"", `{"a": [1, [2, 3], {"b": "<&> \"quoted, [text]\" \\"}], "": null}`, `[[[]], [{}], "]"]`, `"\\"`, "0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var doc any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if dec.Decode(&doc) != nil {
			return
		}
		var out, plain, compact bytes.Buffer
		require.NoError(t, writeJSON(&out, doc, "", false))
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(doc))
		require.NoError(t, json.Compact(&compact, out.Bytes()))
		require.Equal(t, string(jsonform.Escape(bytes.TrimSpace(plain.Bytes()))), compact.String())
		var again any
		dec = json.NewDecoder(&out)
		dec.UseNumber()
		require.NoError(t, dec.Decode(&again))
		require.Equal(t, doc, again)
	})
}
