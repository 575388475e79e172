// Tests of docs/defects.md and docs/known-issues.md.

package lint_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rows returns the cells of the table rows of a document that begin with the name of a C library.
func rows(t *testing.T, document string) (out [][]string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "docs", document))
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "| C-Blosc2 | ") || strings.HasPrefix(line, "| HDF5 | ") {
			out = append(out, strings.Split(strings.Trim(line, "| \n"), " | "))
		}
	}
	require.Greater(t, len(out), 50, document)
	return out
}

// TestDefects checks that each row of docs/defects.md is complete, that its test exists in the
// package of its library, and that docs/known-issues.md has a decision for it.
func TestDefects(t *testing.T) {
	tests := map[string]bool{} // keys consist of the library and the test
	for _, f := range tree(t) {
		if !f.Test {
			continue
		}
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				switch f.Dir {
				case "cblosc":
					tests["C-Blosc2 "+fn.Name.Name] = true
				case "h5", "h5/chunkio", "h5/h5value", "ndarray/hdf5":
					tests["HDF5 "+fn.Name.Name] = true
				}
			}
		}
	}
	var defects, decisions []string
	for _, cells := range rows(t, "defects.md") {
		require.Len(t, cells, 6, "%q", cells)
		for _, cell := range cells {
			require.NotEmpty(t, cell, "%q", cells)
		}
		name := cells[0] + ": " + cells[1]
		require.NotContains(t, defects, name)
		require.True(t, tests[cells[0]+" "+cells[5]], "%s: test %s does not exist", name, cells[5])
		defects = append(defects, name)
	}
	trusted := trustedRows(t)
	for _, cells := range rows(t, "known-issues.md") {
		require.Len(t, cells, 5, "%q", cells)
		switch cells[4] {
		case "tested":
			require.Contains(t, trusted, cells[1], "no test of the entry package in trusted mode has this row")
		case "no guard":
			require.Equal(t, "removed", cells[2])
		default:
			require.Regexp(t, `^no: \w+( \S+){3,}$`, cells[4], "reason why %s is not tested in trusted mode", cells[1])
			require.NotContains(t, trusted, cells[1], "this row is tested in trusted mode")
		}
		require.Regexp(t, `^(kept \([a-z0-9/, ]+\)|refused \([A-Za-z.]+\)|removed)$`, cells[2], "decision about %s", cells[1])
		if cells[0] == "C-Blosc2" {
			require.Regexp(t, `^(removed|kept \(.+\)|refused \(.+\))$`, cells[2], "%q", cells)
		}
		if cells[2] != "removed" {
			decisions = append(decisions, cells[0]+": "+cells[1])
		}
	}
	require.ElementsMatch(t, defects, decisions)
}

// trustedRows returns the strings in the tests of defects through the entry package.
func trustedRows(t *testing.T) (strs []string) {
	t.Helper()
	for _, f := range tree(t) {
		if f.Path != "internal/tree/opened/defects_test.go" && f.Path != "internal/tree/opened/defects_hdf5_test.go" {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				strs = append(strs, text)
			}
			return true
		})
	}
	return strs
}
