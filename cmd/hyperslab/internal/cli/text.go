// Text that is safe to show.

package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// safe returns s with everything that a terminal would act on, or a line-based
// reader stumble over, escaped as in Go: names come from files, and a file can
// hold any bytes.
func safe(s string) string {
	clean := true
	for _, r := range s {
		clean = clean && unicode.IsPrint(r) && r != unicode.ReplacementChar
	}
	if clean {
		return s
	}
	q := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// safeLines is safe for a text of several lines, which error messages may have.
func safeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = safe(lines[i])
	}
	return strings.Join(lines, "\n")
}

// plural is "1 attribute", "2 attributes".
func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}

// textWidth is the number of columns that a text without control characters takes,
// one for each character, as everywhere in this package.
func textWidth(s string) int { return utf8.RuneCountInString(s) }
