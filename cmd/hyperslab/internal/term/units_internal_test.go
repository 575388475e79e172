package term

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB",
		1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB", 3<<30 + 1<<29: "3.5 GiB",
		math.MaxInt64: "8.0 EiB",
	} {
		require.Equal(t, want, FormatBytes(n), "%d bytes", n)
	}
}

func TestFormatBytes_digits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(0).Draw(t, "n")
		number, _, _ := strings.Cut(FormatBytes(n), " ")
		require.LessOrEqual(t, len(number), len("1023.9"))
		require.False(t, strings.HasPrefix(number, "1024."), "%d bytes: %s", n, FormatBytes(n))
	})
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "65536": 65536, "12B": 12, "64K": 64 << 10, "64k": 64 << 10, "64KiB": 64 << 10,
		"64KB": 64000, "1.5GiB": 3 << 29, "2G": 2 << 30, "3 MiB": 3 << 20, "1TB": 1e12, "1EiB": 1 << 60,
	} {
		got, err := ParseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "x", "-1", "1.5", "1..5G", "4X", "4Kx", "4KiBs", "K", "9EiB", "1e9", "NaN"} {
		_, err := ParseBytes(text)
		require.ErrorContains(t, err, "is not a size in bytes", text)
		require.ErrorContains(t, err, fmt.Sprintf("%q", text))
	}
}

func TestParseShape(t *testing.T) {
	for text, want := range map[string][]int64{"": nil, "7": {7}, "64,64": {64, 64}, "2x3x4": {2, 3, 4}, "2, 3": {2, 3}} {
		got, err := ParseShape(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{",", "0", "-1", "a", "1,b", "1.5", "99999999999999999999", "1,,2", "3x"} {
		_, err := ParseShape(text)
		require.ErrorContains(t, err, "is not a shape", text)
	}
}

func TestFormatShape(t *testing.T) {
	require.Equal(t, "scalar", FormatShape(nil))
	require.Equal(t, "5", FormatShape([]int64{5}))
	require.Equal(t, "0x3x*", FormatShape([]int64{0, 3, -1}))
}

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"plain/näme ☃": "plain/näme ☃",
		"a\x1b[31mred": `a\x1b[31mred`,
		"two\nlines":   `two\nlines`,
		`say "hi"`:     `say "hi"`,
		"bad\xff":      `bad\xff`,
		"tab\t\"q\"":   `tab\t"q"`,
		"right\u202e":  `right\u202e`,
	} {
		require.Equal(t, want, Safe(in))
	}
	require.Equal(t, "one\ntwo\\x1b", SafeLines("one\ntwo\x1b"))
}
