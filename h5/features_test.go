package h5_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFeatures checks that each row of docs/h5-features.md has a description and names a test that
// exists.
func TestFeatures(t *testing.T) {
	found := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range files {
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
				found[string(m[1])] = true
			}
		}
	}
	b, err := os.ReadFile(filepath.Join("..", "docs", "h5-features.md"))
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| capability") || strings.HasPrefix(line, "| **") {
			continue
		}
		require.NotEmpty(t, strings.TrimSpace(cells[2]), line)
		for test := range strings.SplitSeq(cells[3], ",") {
			test = strings.TrimSpace(test)
			require.True(t, found[test], "there is no %s: %s", test, line)
		}
		rows++
	}
	require.Greater(t, rows, 60)
}
