package crosscheck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClaims_tests checks that docs/crosscheck-claims.md names every test of the package, and no
// test that does not exist.
func TestClaims_tests(t *testing.T) {
	text, err := os.ReadFile("../docs/crosscheck-claims.md")
	require.NoError(t, err)
	named := make(map[string]bool)
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	there := make(map[string]bool)
	for _, name := range files {
		code, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t `).FindAllStringSubmatch(string(code), -1) {
			there[m[1]] = true
		}
	}
	for name := range named {
		require.True(t, there[name], "%s: unknown test", name)
	}
	for name := range there {
		if name != "TestMain" && name != t.Name() && name != "TestExplain_changedVector" {
			require.True(t, named[name], "%s: missing in the table", name)
		}
	}
}
