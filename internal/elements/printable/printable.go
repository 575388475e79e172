// Escapes.

package printable

import (
	"strconv"
	"strings"
	"unicode"
)

// Text replaces control characters and other characters that are not printable by Go escapes, for
// example \x1b. It returns s if there are none.
func Text(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return s
	}
	q := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
