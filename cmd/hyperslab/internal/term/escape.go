// Output on a terminal without the control characters of files.

package term

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Escaper writes text to a terminal. Control characters except line feed and tab, bytes that are
// not UTF-8, and characters that change the writing direction appear as Go escapes, for example
// \x1b.
type Escaper struct {
	w    io.Writer
	rest []byte // the beginning of a character that the next Write completes
}

// NewEscaper returns an Escaper that writes to w.
func NewEscaper(w io.Writer) *Escaper { return &Escaper{w: w} }

// Write implements io.Writer.
func (t *Escaper) Write(b []byte) (int, error) {
	text := append(t.rest, b...)
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 && (utf8.FullRune(text)) {
		r, n := utf8.DecodeRune(text)
		out = appendShown(out, r, text[:n])
		text = text[n:]
	}
	t.rest = append([]byte(nil), text...)
	if _, err := t.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close writes the bytes of an incomplete character.
func (t *Escaper) Close() error {
	var out []byte
	for _, c := range t.rest {
		out = appendShown(out, utf8.RuneError, []byte{c})
	}
	t.rest = nil
	_, err := t.w.Write(out)
	return err
}

// appendShown appends the character r, which is encoded as b, or its escape.
func appendShown(out []byte, r rune, b []byte) []byte {
	switch {
	case r == utf8.RuneError && len(b) == 1, r < ' ' && r != '\n' && r != '\t', r == 0x7f:
		return fmt.Appendf(out, `\x%02x`, b[0])
	case unsafeInJSON(r):
		return fmt.Appendf(out, `\u%04x`, r)
	}
	return append(out, b...)
}

// unsafeInJSON reports whether a terminal could interpret a character that encoding/json writes
// unescaped: DEL, the C1 control characters, and Unicode's marks for the writing direction.
func unsafeInJSON(r rune) bool {
	return r == 0x7f || r >= 0x80 && r < 0xa0 || r < 0x10000 && unicode.Is(unicode.Bidi_Control, r)
}

// EscapeJSON replaces the characters of a JSON document that a terminal could interpret, which are
// all inside strings, by \u escapes. The values stay the same.
func EscapeJSON(b []byte) []byte {
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
		if unsafeInJSON(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}
