// Characters that a terminal could interpret.

package jsonform

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Unsafe reports whether a terminal could interpret a character that encoding/json writes
// unescaped: DEL, the C1 control characters, and Unicode's marks for the writing direction.
func Unsafe(r rune) bool {
	return r == 0x7f || r >= 0x80 && r < 0xa0 || r < 0x10000 && unicode.Is(unicode.Bidi_Control, r)
}

// Escape replaces the characters of a JSON document that a terminal could interpret, which are
// all inside strings, by \u escapes. The values stay the same.
func Escape(b []byte) []byte {
	clean := true
	for _, c := range b {
		clean = clean && c < 0x7f
	}
	if clean {
		return b
	}
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if Unsafe(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}
