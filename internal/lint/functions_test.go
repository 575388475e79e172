// Test of the size of functions.
package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Limits for the functions of the command. A function with more state has a struct for it.
const (
	mostBranches   = 25
	mostParameters = 5
)

// branches counts the decisions of a function: conditions, loops, cases, && and ||.
func branches(fn *ast.FuncDecl) int {
	count := 0
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			count++
		case *ast.CaseClause:
			if n.List != nil {
				count++
			}
		case *ast.CommClause:
			if n.Comm != nil {
				count++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				count++
			}
		}
		return true
	})
	return count
}

// parameters counts the parameters of a function.
func parameters(fn *ast.FuncDecl) int {
	count := 0
	for _, field := range fn.Type.Params.List {
		count += max(len(field.Names), 1)
	}
	return count
}

func TestFunctions_command(t *testing.T) {
	const sample = `package p
func f(a, b int, _ string) {
	if a > 0 && b > 0 { return }
	for range b { switch a { case 1: case 2: default: } }
}`
	f, err := parser.ParseFile(token.NewFileSet(), "", sample, 0)
	require.NoError(t, err)
	fn, ok := f.Decls[0].(*ast.FuncDecl)
	require.True(t, ok)
	require.Equal(t, 5, branches(fn))
	require.Equal(t, 3, parameters(fn))

	checked := 0
	for _, f := range tree(t) {
		if f.Test || !strings.HasPrefix(f.Dir, "cmd/hyperslab") {
			continue
		}
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := f.Set.Position(fn.Pos())
			require.LessOrEqual(t, branches(fn), mostBranches, "%s: branches of %s", at, fn.Name.Name)
			require.LessOrEqual(t, parameters(fn), mostParameters, "%s: parameters of %s", at, fn.Name.Name)
			checked++
		}
	}
	require.Greater(t, checked, 500)
}

// ownMeaning are flags of several commands that have another meaning or another type in each.
var ownMeaning = map[string]bool{
	"format": true, "level": true, "codec": true, "shuffle": true, "chunks": true, "exclude": true, "range": true, "bins": true,
	"dtype": true, "plain": true, "memory": true, "sandbox": true, "untrusted": true, "log": true, "timeout": true, "axis": true,
	"allow-missing": true, "count": true, "storage": true, "plan": true, "index": true, "cloud": true, "clip": true,
}

// TestFlags_shared checks that a flag that several commands have is declared in one place.
func TestFlags_shared(t *testing.T) {
	places := make(map[string][]string)
	for _, f := range tree(t) {
		if f.Test || !strings.HasPrefix(f.Dir, "cmd/hyperslab") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 4 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !strings.HasSuffix(sel.Sel.Name, "Var") && !strings.HasSuffix(sel.Sel.Name, "VarP") {
				return true
			}
			if name, ok := call.Args[1].(*ast.BasicLit); ok && name.Kind == token.STRING {
				places[strings.Trim(name.Value, `"`)] = append(places[strings.Trim(name.Value, `"`)], f.Set.Position(name.Pos()).String())
			}
			return true
		})
	}
	require.Greater(t, len(places), 60)
	for name, at := range places {
		require.True(t, len(at) == 1 || ownMeaning[name], "--%s is declared in %v: add it with a function of package shell", name, at)
	}
}
