// Strings and elements of NumPy's type U: code points of four bytes each in native byte order,
// padded with zeros.

package numbers

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// UTF32String returns the string of an element without its padding. It returns an error with the
// index of the first code point that UTF-8 cannot represent, for example half of a surrogate pair.
func UTF32String(element []byte) (string, error) {
	n := len(element) / 4
	for n > 0 && binary.NativeEndian.Uint32(element[4*(n-1):]) == 0 {
		n--
	}
	out := make([]byte, 0, n)
	for i := range n {
		c := binary.NativeEndian.Uint32(element[4*i:])
		if c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
			return "", fmt.Errorf("code point %d: got U+%04X, want a Unicode scalar value", i, c)
		}
		out = utf8.AppendRune(out, rune(c))
	}
	return string(out), nil
}

// PutUTF32 fills element with s and zeros. It returns an error for invalid UTF-8, for a string that
// is too long, and for one that ends in a zero character, which the padding would hide.
func PutUTF32(element []byte, s string) error {
	at := 0
	last := rune(-1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size <= 1 {
			return fmt.Errorf("byte %d: got 0x%02x, want valid UTF-8", i, s[i])
		}
		if at+4 > len(element) {
			return fmt.Errorf("string: got %d characters, want at most %d", utf8.RuneCountInString(s), len(element)/4)
		}
		binary.NativeEndian.PutUint32(element[at:], uint32(r))
		at, i, last = at+4, i+size, r
	}
	if last == 0 {
		return fmt.Errorf("string %q: got a zero character at the end, want another character", s)
	}
	clear(element[at:])
	return nil
}
