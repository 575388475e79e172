// Tests of the BloscLZ decoder with streams written by hand, instruction by instruction. TestGolden
// and TestCompat decode streams written by C-Blosc2.

package chunk

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// literal encodes b as literal runs of at most 32 bytes.
func literal(b []byte) []byte {
	var s []byte
	for len(b) > 0 {
		n := min(len(b), 32)
		s = append(append(s, byte(n-1)), b[:n]...)
		b = b[n:]
	}
	return s
}

func TestBloscLZ(t *testing.T) {
	long := make([]byte, 9000)
	for i := range long {
		long[i] = byte(i * i >> 3)
	}
	near, far := len(long)-8191, len(long)-8192
	for name, tt := range map[string]struct {
		stream, want []byte
	}{
		"empty":                  {nil, []byte{}},
		"literals":               {literal(long[:70]), long[:70]},
		"first byte has flags":   {append([]byte{0xE1}, "ab"...), []byte("ab")},
		"copy of 3":              {append(literal([]byte("abc")), 1<<5, 2), []byte("abcabc")},
		"copy of 8":              {append(literal([]byte("ab")), 6<<5, 1), []byte("ababababab")},
		"run":                    {append(literal([]byte("x")), 7<<5, 1, 0), bytes.Repeat([]byte("x"), 11)},
		"length of three bytes":  {append(literal([]byte("x")), 7<<5, 255, 255, 0, 0), bytes.Repeat([]byte("x"), 1+9+510)},
		"greatest near distance": {append(literal(long), 1<<5|31, 254), append(bytes.Clone(long), long[near:near+3]...)},
		"least far distance":     {append(literal(long), 1<<5|31, 255, 0, 0), append(bytes.Clone(long), long[far:far+3]...)},
		"far distance, long": {append(literal(long), 7<<5|31, 20, 255, 1, 9),
			append(bytes.Clone(long), long[far-265:far-265+29]...)},
	} {
		got := make([]byte, len(tt.want))
		require.Equal(t, len(tt.want), blosclz(got, tt.stream), name)
		require.Equal(t, tt.want, got, name)

		// A truncated stream decodes to fewer bytes or fails, and a destination that is too short
		// is an error. The decoder must never access bytes out of bounds.
		for n := max(0, len(tt.stream)-40); n < len(tt.stream); n++ {
			require.Less(t, blosclz(make([]byte, len(tt.want)), tt.stream[:n:n]), len(tt.want), "%s cut at %d", name, n)
		}
		if n := len(tt.want); n > 0 {
			require.Equal(t, -1, blosclz(make([]byte, n-1), tt.stream), name)
		}
	}
	for name, stream := range map[string][]byte{
		"copy before the start":     {0, 'a', 1 << 5, 1},
		"far copy before the start": append(literal(long[:8191]), 1<<5|31, 255, 0, 0),
		"length without end":        {0, 'a', 7 << 5, 255},
		"no distance":               {0, 'a', 1 << 5},
		"half a far distance":       append(literal(long), 1<<5|31, 255, 0),
	} {
		require.Equal(t, -1, blosclz(make([]byte, 20000), stream), name)
	}
}

// TestUnshuffle checks the byte unshuffle, with bytes after the last whole element.
func TestUnshuffle(t *testing.T) {
	got := make([]byte, 8)
	unshuffle(got, []byte{1, 4, 2, 5, 3, 6, 7, 8}, 3)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, got)
	unshuffle(got, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 1)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, got)
	unshuffle(got, []byte{8, 7, 6, 5, 4, 3, 2, 1}, 9)
	require.Equal(t, []byte{8, 7, 6, 5, 4, 3, 2, 1}, got)
}
