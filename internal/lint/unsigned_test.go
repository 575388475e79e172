// Test of conversions of sizes and offsets that a file contains.
package lint_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// unsignedPackages read sizes and offsets of files as unsigned integers.
var unsignedPackages = []string{"./internal/verify", "./internal/verify/scan", "./internal/recovery", "./h5/chunkio", "./internal/format/h5file"}

// unsignedAllowed are the functions that may convert an unsigned integer that they do not compare,
// with the reason.
var unsignedAllowed = map[string]string{
	"h5file.fillValue":   "the message stores a signed size",
	"h5file.link":        "the message stores a signed creation order",
	"h5file.linkIndex":   "the record stores a signed creation order",
	"h5file.scaleOffset": "the parameter is a signed number",
	"recovery.indexAt":   "the index stores signed offsets, which Check compares",
}

// TestUnsigned_conversions forbids the conversion of an unsigned integer to a signed one of the
// same or a smaller size before the value was compared with a limit: 2^63 and more become negative,
// and pass each later check against a maximum.
func TestUnsigned_conversions(t *testing.T) {
	withC := append(os.Environ(), "CGO_ENABLED=1") // also in a test without C
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: root, Env: withC}, unsignedPackages...)
	require.NoError(t, err)
	require.Len(t, pkgs, len(unsignedPackages))
	used, checked := map[string]bool{}, 0
	for _, p := range pkgs {
		require.Empty(t, p.Errors)
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				name := p.Types.Name() + "." + fn.Name.Name
				c := conversions{info: p.TypesInfo, sizes: p.TypesSizes}
				c.find(fn.Body)
				checked += c.checked
				if _, ok := unsignedAllowed[name]; ok {
					used[name] = used[name] || len(c.bad) > 0
					continue
				}
				for _, e := range c.bad {
					t.Errorf("%s: %s converts %s before it is compared with a limit", p.Fset.Position(e.Pos()), name, types.ExprString(e))
				}
			}
		}
	}
	require.Greater(t, checked, 20, "conversions after a comparison")
	for name := range unsignedAllowed {
		require.True(t, used[name], "%s needs no exception", name)
	}
}

// conversions finds the conversions of one function.
type conversions struct {
	info    *types.Info
	sizes   types.Sizes
	bad     []ast.Expr // converted expressions
	checked int        // conversions of expressions that were compared before
}

func (c *conversions) find(body *ast.BlockStmt) {
	compared := map[string]token.Pos{} // expressions of which the order was compared, and where first
	ast.Inspect(body, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != token.LSS && b.Op != token.LEQ && b.Op != token.GTR && b.Op != token.GEQ {
			return true
		}
		for _, e := range []ast.Expr{b.X, b.Y} {
			text := types.ExprString(ast.Unparen(e))
			if at, ok := compared[text]; !ok || b.Pos() < at {
				compared[text] = b.Pos()
			}
		}
		return true
	})
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 || !c.info.Types[call.Fun].IsType() || !c.narrows(call) || c.fits(call.Args[0]) {
			return true
		}
		if at, ok := compared[types.ExprString(ast.Unparen(call.Args[0]))]; ok && at < call.Pos() {
			c.checked++
			return true
		}
		c.bad = append(c.bad, call.Args[0])
		return true
	})
}

// narrows reports whether a conversion can make a large value negative.
func (c *conversions) narrows(call *ast.CallExpr) bool {
	to, ok := c.info.Types[call.Fun].Type.Underlying().(*types.Basic)
	if !ok {
		return false
	}
	from, ok := c.info.Types[call.Args[0]].Type.Underlying().(*types.Basic)
	return ok && to.Info()&types.IsInteger != 0 && to.Info()&types.IsUnsigned == 0 && from.Info()&types.IsUnsigned != 0 &&
		c.sizes.Sizeof(to) <= c.sizes.Sizeof(from)
}

// fits reports whether the form of an expression limits its value: a constant, a masked or shifted
// number, a remainder, the minimum with a number that fits, a number that was signed, or a sum of
// these.
func (c *conversions) fits(e ast.Expr) bool {
	e = ast.Unparen(e)
	if v := c.info.Types[e].Value; v != nil {
		n, ok := constant.Int64Val(constant.ToInt(v))
		return ok && n >= 0
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		switch e.Op {
		case token.AND, token.REM:
			return c.fits(e.X) || c.fits(e.Y)
		case token.ADD:
			return c.fits(e.X) && c.fits(e.Y)
		case token.SHR:
			v := c.info.Types[e.Y].Value
			return v != nil && constant.Sign(v) > 0
		case token.QUO:
			v := c.info.Types[e.Y].Value
			n, ok := int64(0), false
			if v != nil {
				n, ok = constant.Int64Val(constant.ToInt(v))
			}
			return ok && n > 1
		}
	case *ast.CallExpr:
		if name, ok := e.Fun.(*ast.Ident); ok && name.Name == "min" && c.info.Types[e.Fun].IsBuiltin() {
			for _, x := range e.Args {
				if c.fits(x) {
					return true
				}
			}
			return false
		}
		if len(e.Args) == 1 && c.info.Types[e.Fun].IsType() {
			from, ok := c.info.Types[e.Args[0]].Type.Underlying().(*types.Basic)
			return ok && (from.Info()&types.IsUnsigned == 0 || c.sizes.Sizeof(from) < c.sizes.Sizeof(types.Typ[types.Int64]) || c.fits(e.Args[0]))
		}
	}
	return false
}
