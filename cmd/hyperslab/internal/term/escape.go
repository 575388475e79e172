// Output on a terminal without the control characters of files.

package term

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
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
	case jsonform.Unsafe(r):
		return fmt.Appendf(out, `\u%04x`, r)
	}
	return append(out, b...)
}
