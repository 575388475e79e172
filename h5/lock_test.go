package h5_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLock_everyCall checks the use of the lock in the source of the package. A function that calls
// the C shim must lock before and unlock by defer, or its name must end in Locked because its
// caller holds the lock.
func TestLock_everyCall(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	calls := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			shim := positions(fn, func(c *ast.CallExpr) bool {
				s, ok := c.Fun.(*ast.SelectorExpr)
				if !ok {
					return false
				}
				pkg, ok := s.X.(*ast.Ident)
				return ok && pkg.Name == "C" && strings.HasPrefix(s.Sel.Name, "goh5_") && s.Sel.Name != "goh5_thread"
			})
			calls += len(shim)
			shim = outside(lent(fn), shim)
			if len(shim) == 0 {
				continue
			}
			if strings.HasSuffix(fn.Name.Name, "Locked") {
				continue
			}
			locks, unlocks := positions(fn, calling("lock")), positions(fn, calling("unlock"))
			require.Len(t, locks, 1, "%s: %s calls lock() once", name, fn.Name.Name)
			require.Len(t, unlocks, 1, "%s: %s calls unlock() once", name, fn.Name.Name)
			require.Less(t, locks[0], slices.Min(shim), "%s: %s calls lock() before the library", name, fn.Name.Name)
		}
		// Only functions that lock and Locked functions may call a Locked function.
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(fn.Name.Name, "Locked") {
				continue
			}
			inner := positions(fn, func(c *ast.CallExpr) bool {
				switch f := c.Fun.(type) {
				case *ast.Ident:
					return strings.HasSuffix(f.Name, "Locked")
				case *ast.SelectorExpr:
					return strings.HasSuffix(f.Sel.Name, "Locked")
				}
				return false
			})
			if len(inner) > 0 && fn.Name.Name != "lock" {
				require.NotEmpty(t, positions(fn, calling("lock")), "%s: %s calls a Locked function", name, fn.Name.Name)
			}
		}
	}
	require.Greater(t, calls, 25, "the shim's calls were found")
}

// TestLock_noEscape checks that noescape is used only with nocallback. A shim that can call Go must
// not get a pointer to a Go stack, because the callback may move the stack.
func TestLock_noEscape(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	marks := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`#cgo noescape (\w+)`).FindAllStringSubmatch(string(b), -1) {
			marks++
			require.Contains(t, string(b), "#cgo nocallback "+m[1]+"\n", "%s: %s may come back to Go", name, m[1])
		}
	}
	require.Positive(t, marks)
}

// lenders are the functions that take the lock and call a function argument.
var lenders = []string{"run", "runBoth", "openObject", "group", "change", "runAlone"}

// lent returns the function literals that fn passes to lenders, whose calls run with the lock held.
func lent(fn *ast.FuncDecl) []*ast.FuncLit {
	var found []*ast.FuncLit
	ast.Inspect(fn, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		var name string
		switch f := c.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		if !slices.Contains(lenders, name) {
			return true
		}
		for _, a := range c.Args {
			if f, ok := a.(*ast.FuncLit); ok {
				found = append(found, f)
			}
		}
		return true
	})
	return found
}

func outside(within []*ast.FuncLit, at []token.Pos) []token.Pos {
	return slices.DeleteFunc(at, func(p token.Pos) bool {
		return slices.ContainsFunc(within, func(f *ast.FuncLit) bool { return f.Pos() <= p && p < f.End() })
	})
}

func calling(name string) func(*ast.CallExpr) bool {
	return func(c *ast.CallExpr) bool {
		f, ok := c.Fun.(*ast.Ident)
		return ok && f.Name == name
	}
}

func positions(fn *ast.FuncDecl, is func(*ast.CallExpr) bool) []token.Pos {
	var found []token.Pos
	ast.Inspect(fn, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && is(c) {
			found = append(found, c.Pos())
		}
		return true
	})
	return found
}
