// Tests of the rates of words and of the width of comments.
package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/lint"
)

// TestProse_rates checks the rates in comments, messages and documents.
func TestProse_rates(t *testing.T) {
	rates, err := lint.Rates(root, tree(t))
	require.NoError(t, err)
	require.NotEmpty(t, rates)
	for _, r := range rates {
		require.True(t, r.Met(), "%s: %s", r.Kind, r)
	}
}

// TestProse_commentWidth checks that comments on lines of their own wrap at 100 columns, with tabs
// of four. Comments after code may be longer.
func TestProse_commentWidth(t *testing.T) {
	for _, f := range tree(t) {
		if strings.HasSuffix(f.Path, "example_test.go") {
			continue // the output of examples cannot be wrapped
		}
		src, err := os.ReadFile(filepath.Join(root, f.Path))
		require.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(src)) {
			n++
			line = strings.TrimRight(line, "\n")
			if text := strings.TrimLeft(line, "\t"); strings.HasPrefix(text, "// ") && strings.Contains(text[3:], " ") {
				width := utf8.RuneCountInString(text) + 4*(len(line)-len(text))
				require.LessOrEqual(t, width, 100, "%s:%d", f.Path, n)
			}
		}
	}
}
