// Quotes.

package shellword

import (
	"strings"

	"github.com/hyperslab/hyperslab/internal/elements/printable"
)

// Quote quotes s if a shell would interpret it. A word with control characters is quoted with
// escapes, as bash and zsh read them.
func Quote(s string) string {
	if shown := printable.Text(s); shown != s {
		return "$'" + strings.ReplaceAll(shown, "'", `\'`) + "'"
	}
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
