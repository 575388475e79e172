// Tests of the lists of exported declarations in api/.

package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPI_internalTypes checks that no type of an internal package, for example of a format reader,
// is part of the public API.
func TestAPI_internalTypes(t *testing.T) {
	internal := map[string]bool{}
	for _, f := range tree(t) {
		if strings.HasPrefix(f.Dir, "internal/") {
			internal[f.AST.Name.Name] = true
		}
	}
	require.True(t, internal["h5file"] && internal["guard"])
	lists, err := filepath.Glob(filepath.Join(root, "api", "*.txt"))
	require.NoError(t, err)
	require.Greater(t, len(lists), 15)
	qualifier := regexp.MustCompile(`\b([a-z0-9]+)\.[A-Z]`)
	for _, list := range lists {
		b, err := os.ReadFile(list)
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "type ") && strings.Contains(line, " = ") {
				continue // an alias makes one type public
			}
			for _, m := range qualifier.FindAllStringSubmatch(line, -1) {
				require.False(t, internal[m[1]], "%s: %s", filepath.Base(list), line)
			}
		}
	}
}
