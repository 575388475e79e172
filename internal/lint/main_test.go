package lint_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/lint"
)

// root is the root of the module, relative to the directory of this package.
const root = "../.."

// parseTree parses the module once. All tests share the result.
var parseTree = sync.OnceValues(func() ([]lint.File, error) { return lint.Tree(root) })

// tree returns the parsed files. It fails if there are no files, because every test of a rule would
// pass without files.
func tree(t *testing.T) []lint.File {
	t.Helper()
	files, err := parseTree()
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}
