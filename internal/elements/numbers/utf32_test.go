package numbers_test

import (
	"encoding/binary"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
)

func TestPutUTF32(t *testing.T) {
	t.Run("any string", rapid.MakeCheck(func(t *rapid.T) {
		s := rapid.String().Draw(t, "string")
		n := utf8.RuneCountInString(s)
		element := make([]byte, 4*(n+rapid.IntRange(0, 3).Draw(t, "padding")))
		for i := range element {
			element[i] = 0xff
		}
		err := numbers.PutUTF32(element, s)
		if n > 0 && s[len(s)-1] == 0 {
			require.ErrorContains(t, err, "zero character at the end")
			return
		}
		require.NoError(t, err)
		back, err := numbers.UTF32String(element)
		require.NoError(t, err)
		require.Equal(t, s, back)
	}))
	t.Run("too long", func(t *testing.T) {
		require.EqualError(t, numbers.PutUTF32(make([]byte, 8), "äöü"), "string: got 3 characters, want at most 2")
	})
	t.Run("invalid UTF-8", func(t *testing.T) {
		require.EqualError(t, numbers.PutUTF32(make([]byte, 8), "a\xff"), "byte 1: got 0xff, want valid UTF-8")
	})
}

func TestUTF32String(t *testing.T) {
	for name, c := range map[string]uint32{"surrogate": 0xd800, "beyond Unicode": 0x110000, "negative": 0xffffffff} {
		t.Run(name, func(t *testing.T) {
			element := binary.NativeEndian.AppendUint32([]byte{0, 0, 0, 0}, c)
			_, err := numbers.UTF32String(element)
			require.ErrorContains(t, err, "code point 1: got U+")
		})
	}
}
