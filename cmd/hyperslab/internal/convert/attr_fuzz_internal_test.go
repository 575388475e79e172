package convert

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// FuzzAttrValue checks that every argument of attr set is a value that can be stored and printed,
// or results in an error.
func FuzzAttrValue(f *testing.F) {
	for _, c := range [][2]string{
		{"km", ""}, {"3", ""}, {"[1, 2.5]", ""}, {"[[1, 2], [3, 4]]", "<i2"}, {"18446744073709551615", ""}, {`["a", "größer"]`, ""},
		{`["a", 1]`, ""}, {"[true, false]", ""}, {`"NaN"`, "<f4"}, {"300", "|u1"}, {`"abc"`, "|S2"}, {`"abc"`, "<U3"}, {"[]", ""}, {"{}", ""},
		{"1e999", ""}, {"0.1", "<f2"}, {"text", "string"}, {"1", "enum('<i2', {'A': 1})"}, {"1", "('<i4', (2,))"}, {"[[], []]", "|b1"},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, text, dtype string) {
		if d, err := ndarray.ParseDType(dtype); err == nil && d.Size > 1<<12 {
			return // long strings are stored unchanged; nothing else depends on the size
		}
		a, err := parseAttr(text, dtype)
		if err != nil {
			return
		}
		a.Name = "a"
		if err := a.Validate(); a.Raw == nil && err != nil {
			require.NotErrorIs(t, err, ndarray.ErrSize, "the value is not whole")
			return
		}
		line := rawLine(a.Raw)
		if a.Raw == nil {
			line = attrLine(a)
		}
		back, err := parseAttr(line, "")
		require.NoError(t, err, line)
		back.Name = "a"
		require.Equal(t, a, back, line)
	})
}
