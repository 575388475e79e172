// Tests of docs/guide: its programs are those of examples/, its pages are short, and its links
// point to files.

package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// guideProgram matches a program in a page and its output.
var guideProgram = regexp.MustCompile("(?s)\\[examples/(\\w+)\\]\\(\\.\\./\\.\\./examples/\\w+/main\\.go\\):\n\n```go\n(.*?)```\n\n```text\n(.*?)```\n")

// TestGuide checks that each program in docs/guide is a program of examples/ with its output, that
// each program of examples/ is in the guide, and that a page has at most 150 lines. `make examples`
// runs the programs.
func TestGuide(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "guide", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	shown := make(map[string]bool)
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, page := range pages {
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		text, name := string(b), filepath.Base(page)
		require.LessOrEqual(t, strings.Count(text, "\n"), 150, name)
		programs := guideProgram.FindAllStringSubmatch(text, -1)
		require.Len(t, programs, strings.Count(text, "\npackage main\n"), "%s: a program without a link to examples/ or without output", name)
		for _, m := range programs {
			shown[m[1]] = true
			for file, got := range map[string]string{"main.go": m[2], "output.txt": m[3]} {
				want, err := os.ReadFile(filepath.Join(root, "examples", m[1], file))
				require.NoError(t, err)
				require.Equal(t, string(want), got, "%s: examples/%s/%s", name, m[1], file)
			}
		}
		for _, m := range link.FindAllStringSubmatch(guideProgram.ReplaceAllString(text, ""), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1])))
			require.NoError(t, err, "%s: link", name)
		}
	}
	programs, err := os.ReadDir(filepath.Join(root, "examples"))
	require.NoError(t, err)
	for _, p := range programs {
		require.True(t, shown[p.Name()], "examples/%s is in no page of docs/guide", p.Name())
	}
}
