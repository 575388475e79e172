// Text that is safe to display.

package term

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/printable"
)

// Safe returns s with all characters escaped as in Go that a terminal would interpret or that would
// confuse line-based readers. Names come from files, which can contain any bytes.
func Safe(s string) string { return printable.Text(s) }

// SafeLines is Safe for a text of several lines, for example an error message.
func SafeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Safe(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Plural returns, for example, "1 attribute" or "2 attributes".
func Plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}

// StringWidth returns the number of columns of a text without control characters. Each character
// counts as one column, as everywhere in this package.
func StringWidth(s string) int { return utf8.RuneCountInString(s) }
