// What must not be written, and what must not be missing.
package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPackageHasADocFile(t *testing.T) {
	docs, packages := map[string]bool{}, map[string]string{}
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		packages[f.dir] = f.ast.Name.Name
		if filepath.Base(f.path) == "doc.go" && f.ast.Doc != nil {
			docs[f.dir] = true
		}
	}
	for dir, name := range packages {
		if name != "main" {
			require.True(t, docs[dir], "%s has no doc.go with a package comment", dir)
		}
	}
}

func TestForbiddenCalls(t *testing.T) {
	forbidden := map[string]string{
		"runtime.SetFinalizer": "use runtime.AddCleanup: a finalizer may resurrect its object and runs once",
		"C.CString":            "use internal/cmem: the sanitizer does not see a leaked C.CString",
		"C.CBytes":             "use internal/cmem: the sanitizer does not see a leaked C.CBytes",
		"C.malloc":             "use internal/cmem: its counters prove that nothing is left",
	}
	for _, f := range tree(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok {
				why, bad := forbidden[x.Name+"."+sel.Sel.Name]
				require.False(t, bad, "%s: %s.%s: %s", f.fset.Position(sel.Pos()), x.Name, sel.Sel.Name, why)
			}
			return true
		})
	}
}

// (n + d - 1) / d overflows for the shapes that files may have.
func TestDivisionsRoundUpWithoutOverflow(t *testing.T) {
	bare := func(e ast.Expr) ast.Expr {
		for {
			p, ok := e.(*ast.ParenExpr)
			if !ok {
				return e
			}
			e = p.X
		}
	}
	binary := func(e ast.Expr, op token.Token) (x, y ast.Expr, ok bool) {
		b, ok := bare(e).(*ast.BinaryExpr)
		if !ok || b.Op != op {
			return nil, nil, false
		}
		return b.X, b.Y, true
	}
	rounds := func(e ast.Expr) bool {
		n, d, ok := binary(e, token.QUO)
		if !ok {
			return false
		}
		sum, one, ok := binary(n, token.SUB)
		if lit, is := one.(*ast.BasicLit); !ok || !is || lit.Value != "1" {
			return false
		}
		_, y, ok := binary(sum, token.ADD)
		return ok && types.ExprString(bare(y)) == types.ExprString(bare(d))
	}
	for text, want := range map[string]bool{"(n + d - 1) / d": true, "(n+x.d[i]-1)/x.d[i]*3": false, "(n + d - 1) / e": false, "(n - 1) / d": false} {
		e, err := parser.ParseExpr(text)
		require.NoError(t, err)
		require.Equal(t, want, rounds(e), text)
	}
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				require.False(t, rounds(e), "%s: use package internal/ceil", f.fset.Position(n.Pos()))
			}
			return true
		})
	}
}

// Work left undone is a defect, not a comment.
func TestNothingIsLeftUndone(t *testing.T) {
	undone := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	for _, f := range tree(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				require.False(t, undone.MatchString(c.Text), "%s: %s", f.fset.Position(c.Pos()), c.Text)
			}
		}
	}
}

// A C file takes memory from cmem only, prints nothing and never ends the
// process: it is a guest in somebody's service.
func TestShimsAreGoodGuests(t *testing.T) {
	bad := regexp.MustCompile(`\b(malloc|calloc|realloc|strdup|printf|fprintf|puts|exit|abort|assert|setjmp|longjmp)\s*\(`)
	comment := regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	seen := 0
	for dir := range cFolders {
		for _, pattern := range []string{"*.c", "*.h"} {
			names, err := filepath.Glob(filepath.Join(root, dir, pattern))
			require.NoError(t, err)
			for _, name := range names {
				b, err := os.ReadFile(name)
				require.NoError(t, err)
				seen++
				if dir == "internal/cmem" {
					continue // the one place where memory really comes from
				}
				require.Empty(t, bad.FindAllString(comment.ReplaceAllString(string(b), ""), -1), "%s", name)
			}
		}
	}
	require.Positive(t, seen)
}
