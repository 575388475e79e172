// Tests of the rates of words that are symptoms of unclear sentences, in comments, messages and
// documents.
package lint_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// atMost and atLeast are limits of occurrences per 10,000 words. In model projects the rates of the
// first group are much lower, because their sentences have a subject and use the terms of the
// field. The rates of the second group are higher, because their comments give reasons and
// examples.
var (
	atMost = map[string]float64{
		`what`: 12, `say|says|said`: 5, `nobody|nothing|none`: 8, `behind`: 2, `tell|tells|told`: 2,
		`anew|besides|but for|vouch\w*`: 1, `texts`: 1,
	}
	atLeast = map[string]float64{`because|since`: 6, `must|should`: 20, `for example|e\.g\.`: 2}
)

// TestProse_rates checks the rates in comments, in strings of at least four words, and in
// documents. Tests are not checked.
func TestProse_rates(t *testing.T) {
	var comments, messages, documents strings.Builder
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, group := range f.ast.Comments {
			comments.WriteString(group.Text() + "\n")
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				if len(strings.Fields(s)) >= 4 {
					messages.WriteString(s + "\n")
				}
			}
			return true
		})
	}
	fenced := regexp.MustCompile("(?s)```.*?```")
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (ignoredDirs[p] || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && p != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".md") || p == "CHANGELOG.md":
			return nil
		}
		b, err := fs.ReadFile(os.DirFS(root), p)
		if err != nil {
			return err
		}
		for line := range strings.Lines(fenced.ReplaceAllString(string(b), "")) {
			if !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "|") { // output and tables are excluded
				documents.WriteString(line)
			}
		}
		return nil
	})
	require.NoError(t, err)
	for kind, text := range map[string]string{"comments": comments.String(), "strings": messages.String(), "documents": documents.String()} {
		words := len(strings.Fields(text))
		require.Greater(t, words, 10_000, kind)
		rate := func(word string) float64 {
			found := regexp.MustCompile(`(?i)\b(`+word+`)\b`).FindAllStringIndex(text, -1)
			return 1e4 * float64(len(found)) / float64(words)
		}
		for word, limit := range atMost {
			require.LessOrEqual(t, rate(word), limit, "%s: %s", kind, word)
		}
		if kind == "comments" {
			for word, limit := range atLeast {
				require.GreaterOrEqual(t, rate(word), limit, "%s: %s", kind, word)
			}
		}
	}
}

// TestProse_commentWidth checks that comments on lines of their own wrap at 100 columns, with tabs
// of four. Comments after code may be longer.
func TestProse_commentWidth(t *testing.T) {
	for _, f := range tree(t) {
		if strings.HasSuffix(f.path, "example_test.go") {
			continue // the output of examples cannot be wrapped
		}
		src, err := os.ReadFile(filepath.Join(root, f.path))
		require.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(src)) {
			n++
			line = strings.TrimRight(line, "\n")
			if text := strings.TrimLeft(line, "\t"); strings.HasPrefix(text, "// ") && strings.Contains(text[3:], " ") {
				width := utf8.RuneCountInString(text) + 4*(len(line)-len(text))
				require.LessOrEqual(t, width, 100, "%s:%d", f.path, n)
			}
		}
	}
}
