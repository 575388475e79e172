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
	"strings"
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
	for dir := range cDirectories {
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

// TestProductionCodeNamesNoTest checks that comments and strings of production code do not name
// test functions, because a reader of the code does not have them.
func TestProductionCodeNamesNoTest(t *testing.T) {
	tests := map[string]bool{}
	for _, f := range tree(t) {
		if !f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name != "TestMain" {
				tests[fn.Name.Name] = true
			}
		}
	}
	name := regexp.MustCompile(`\bTest[A-Z]\w*`)
	for _, f := range tree(t) {
		if f.test || strings.HasSuffix(f.dir, "test") { // packages of helpers for tests
			continue
		}
		for _, group := range f.ast.Comments {
			for _, word := range name.FindAllString(group.Text(), -1) {
				require.False(t, tests[word], "%s: a comment names %s", f.fset.Position(group.Pos()), word)
			}
		}
	}
}

// TestExportedIdentifiers limits the functions, types, methods, constants and variables that a
// binding exports.
func TestExportedIdentifiers(t *testing.T) {
	limits := map[string]int{"h5": 440, "cblosc": 265}
	names := map[string]map[string]bool{}
	for _, f := range tree(t) {
		if f.test || limits[f.dir] == 0 {
			continue
		}
		found := names[f.dir]
		if found == nil {
			found = map[string]bool{}
			names[f.dir] = found
		}
		for _, decl := range f.ast.Decls {
			for _, name := range exported(decl) {
				found[name] = true
			}
		}
	}
	for dir, limit := range limits {
		require.Greater(t, len(names[dir]), limit/2, dir)
		require.LessOrEqual(t, len(names[dir]), limit, "package %s", dir)
	}
}

// exported returns the exported names of a declaration, methods with their type.
func exported(decl ast.Decl) (names []string) {
	add := func(id *ast.Ident, prefix string) {
		if id.IsExported() {
			names = append(names, prefix+id.Name)
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name, "")
			return names
		}
		receiver := d.Recv.List[0].Type
		if p, ok := receiver.(*ast.StarExpr); ok {
			receiver = p.X
		}
		if id, ok := receiver.(*ast.Ident); ok && id.IsExported() {
			add(d.Name, id.Name+".")
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add(s.Name, "")
			case *ast.ValueSpec:
				for _, id := range s.Names {
					add(id, "")
				}
			}
		}
	}
	return names
}
