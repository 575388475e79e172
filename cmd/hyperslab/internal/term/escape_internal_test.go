package term

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShownText_Write(t *testing.T) {
	const text = "a\tb\n\x1b[31mred\x07\r\x00\u009b31m\x7f é\u202e\U0001f600\xff\xc3"
	const want = "a\tb\n\\x1b[31mred\\x07\\x0d\\x00\\u009b31m\\x7f é\\u202e\U0001f600\\xff\\xc3"
	for _, step := range []int{1, 2, 3, 100} {
		var b bytes.Buffer
		w := &Escaper{w: &b}
		for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
			n, err := w.Write([]byte(rest[:min(step, len(rest))]))
			require.NoError(t, err)
			require.Equal(t, min(step, len(rest)), n)
		}
		require.NoError(t, w.Close())
		require.Equal(t, want, b.String())
	}
}
