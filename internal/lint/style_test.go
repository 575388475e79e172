// Tests of rules for the source code, for example of forbidden calls and of package comments.
package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/lint"
)

func TestStyle_docFiles(t *testing.T) {
	docs, packages := map[string]bool{}, map[string]string{}
	for _, f := range tree(t) {
		if f.Test {
			continue
		}
		packages[f.Dir] = f.AST.Name.Name
		if filepath.Base(f.Path) == "doc.go" && f.AST.Doc != nil {
			docs[f.Dir] = true
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
		"context.WithValue":    "use a parameter or an option: a context carries cancellation only",
	}
	for _, f := range tree(t) {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok {
				why, bad := forbidden[x.Name+"."+sel.Sel.Name]
				require.False(t, bad, "%s: %s.%s: %s", f.Set.Position(sel.Pos()), x.Name, sel.Sel.Name, why)
			}
			return true
		})
	}
}

// TestStyle_divisions forbids (n + d - 1) / d, because the sum overflows for the shapes that files
// may have.
func TestStyle_divisions(t *testing.T) {
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
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				require.False(t, rounds(e), "%s: use DivUp of internal/grid", f.Set.Position(n.Pos()))
			}
			return true
		})
	}
}

// TestStyle_sentinels checks that errs.New makes the exported sentinels of all packages, because a
// worker process passes those to its program. Names of other sentinels are allowed.
func TestStyle_sentinels(t *testing.T) {
	found := 0
	for _, f := range tree(t) {
		for _, d := range f.AST.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR || f.Test || strings.HasPrefix(f.Dir, "scripts") || strings.HasPrefix(f.Dir, "internal/testkit") {
				continue
			}
			for _, x := range g.Specs {
				v := x.(*ast.ValueSpec)
				if len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Err") {
					continue
				}
				call, ok := v.Values[0].(*ast.CallExpr)
				if !ok {
					continue // the name of another sentinel
				}
				fun := types.ExprString(call.Fun)
				require.True(t, fun == "errs.New" || f.Dir == "internal/errs" && fun == "New", "%s: got %s, want errs.New", f.Set.Position(v.Pos()), fun)
				found++
			}
		}
	}
	require.Greater(t, found, 40)
}

// TestStyle_markers forbids markers of unfinished work, because unfinished work is a defect.
func TestStyle_markers(t *testing.T) {
	undone := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	for _, f := range tree(t) {
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				require.False(t, undone.MatchString(c.Text), "%s: %s", f.Set.Position(c.Pos()), c.Text)
			}
		}
	}
}

// TestStyle_testFiles limits the length of files with tests, so that a reader finds a test by the
// name of its file.
func TestStyle_testFiles(t *testing.T) {
	const most = 800
	for _, f := range tree(t) {
		if !f.Test {
			continue
		}
		lines := f.Set.Position(f.AST.FileEnd).Line
		require.LessOrEqual(t, lines, most, "%s has %d lines", f.Set.Position(f.AST.Pos()).Filename, lines)
	}
}

// TestStyle_shims checks that C files allocate memory only with cmem, print nothing and never end
// the process, because they are part of a library.
func TestStyle_shims(t *testing.T) {
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
					continue // cmem itself calls malloc
				}
				require.Empty(t, bad.FindAllString(comment.ReplaceAllString(string(b), ""), -1), "%s", name)
			}
		}
	}
	require.Positive(t, seen)
}

// TestStyle_testNames checks that comments and strings of production code do not contain names of
// test functions, because readers of the code do not have the tests.
func TestStyle_testNames(t *testing.T) {
	tests := map[string]bool{}
	for _, f := range tree(t) {
		if !f.Test {
			continue
		}
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name != "TestMain" {
				tests[fn.Name.Name] = true
			}
		}
	}
	name := regexp.MustCompile(`\bTest[A-Z]\w*`)
	for _, f := range tree(t) {
		if f.Test || strings.HasSuffix(f.Dir, "test") { // packages with test helpers
			continue
		}
		for _, group := range f.AST.Comments {
			for _, word := range name.FindAllString(group.Text(), -1) {
				require.False(t, tests[word], "%s: a comment names %s", f.Set.Position(group.Pos()), word)
			}
		}
	}
}

// TestExportedIdentifiers limits the constants, variables, functions, methods and types that public
// packages export, according to api/*.txt. A limit may rise only for a new feature, and must fall
// with the number of identifiers.
func TestExportedIdentifiers(t *testing.T) {
	limits := map[string]int{
		"hyperslab": 121, "ndarray": 236, "ndarray-b2nd": 10, "ndarray-bcolz": 25, "ndarray-cf": 27, "ndarray-hdf5": 18, "ndarray-mem": 1,
		"ndarray-npy":         5,
		"ndarray-ndarraytest": 3, "cblosc": 268, "cblosc-frameio": 70, "crosscheck": 52, "h5": 443, "h5-chunkio": 11,
		"h5-ddl": 2, "h5-filter": 37, "h5-h5value": 19, "remote": 33, "serve": 6, "plan": 19,
	}
	const otherPackage = 30 // limit for packages that are not listed
	lists, err := filepath.Glob("../../api/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, list := range lists {
		text, err := os.ReadFile(list)
		require.NoError(t, err)
		count := lint.Identifiers(string(text))
		name := strings.TrimSuffix(filepath.Base(list), ".txt")
		limit, ok := limits[name]
		if !ok {
			limit = otherPackage
		}
		require.Positive(t, count, name)
		require.LessOrEqual(t, count, limit, "package %s", name)
	}
}

// TestExamples checks that each public package has an example, and each function of the packages
// that most programs import.
func TestExamples(t *testing.T) {
	lists, err := filepath.Glob("../../api/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, list := range lists {
		dir := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(list), ".txt"), "-", "/")
		if dir == "hyperslab" {
			dir = "."
		}
		require.True(t, slices.ContainsFunc(tree(t), func(f lint.File) bool {
			return f.Test && f.Dir == dir && slices.ContainsFunc(f.AST.Decls, func(d ast.Decl) bool {
				fn, ok := d.(*ast.FuncDecl)
				return ok && strings.HasPrefix(fn.Name.Name, "Example")
			})
		}), "package %s has no example", dir)
	}
	for _, p := range []struct{ list, dir string }{{"hyperslab", "."}, {"ndarray", "ndarray"}} {
		text, err := os.ReadFile("../../api/" + p.list + ".txt")
		require.NoError(t, err)
		have := map[string]bool{}
		for _, f := range tree(t) {
			if !f.Test || f.Dir != p.dir {
				continue
			}
			for _, d := range f.AST.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					name, _, _ := strings.Cut(fn.Name.Name, "_")
					have[name] = true
				}
			}
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			rest, ok := strings.CutPrefix(line, "func ")
			if !ok || strings.HasPrefix(rest, "(") {
				continue
			}
			name := rest[:strings.IndexAny(rest, "[(")]
			require.True(t, have["Example"+name], "%s.%s has no example", p.list, name)
			n++
		}
		require.Greater(t, n, 10, p.list)
	}
}
