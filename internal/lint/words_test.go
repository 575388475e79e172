// Tests of words that comments and messages must not contain, and of the form of error messages.
package lint_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// forbidden are unclear terms of the glossary, each with its replacement.
var forbidden = []struct{ word, use string }{
	{`folders?`, "directory"}, {`anew`, "again"}, {`vouch\w*`, "trusted"}, {`but for`, "except"},
	{`damaged places?`, "corrupt range"}, {`largest shape|greatest shape`, "maximum shape"},
	{`names of axes`, "dimension names"}, {`turned round`, "reversed, byte-swapped"},
	{`led astray`, "reads out of bounds because of"}, {`comes? up`, "appears, is created"},
	{`passe?s? as stored|kept? as stored`, "copied without recompression"},
	{`spare workers?`, "idle worker"}, {`in the words of h5dump|words of h5dump`, "DDL"},
	{`element types? of NumPy`, "dtype"}, {`the library's own`, "libhdf5's, C-Blosc2's"},
	{`texts`, "strings"}, {`no place for`, "cannot store"}, {`is told|are told`, "is reported"},
}

// TestWords checks comments and messages for forbidden words. Tests are not checked.
func TestWords(t *testing.T) {
	type rule struct {
		pattern *regexp.Regexp
		use     string
	}
	var rules []rule
	for _, f := range forbidden {
		rules = append(rules, rule{regexp.MustCompile(`(?i)\b(` + f.word + `)\b`), f.use})
	}
	for _, f := range tree(t) {
		if f.Test || f.Path == "internal/lint/prose.go" { // prose.go lists such words
			continue
		}
		check := func(s string) {
			s = strings.Join(strings.Fields(s), " ")
			for _, r := range rules {
				if at := r.pattern.FindStringIndex(s); at != nil {
					t.Errorf("%s: got %q in %q, want %s", f.Path, s[at[0]:at[1]], s[max(0, at[0]-40):min(len(s), at[1]+40)], r.use)
				}
			}
		}
		for _, group := range f.AST.Comments {
			check(group.Text())
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				check(s)
			}
			return true
		})
	}
}

// TestErrorMessages checks the form of messages: they begin with a lower-case letter or a name,
// do not end with a full stop, and contain no names of C functions.
func TestErrorMessages(t *testing.T) {
	function := regexp.MustCompile(`\b(H5[A-Z]{1,2}[a-z]\w+|H5[A-Z]{1,2}_\w+\(|blosc2?_\w+|b2nd_\w+)\b`)
	capital := regexp.MustCompile(`^(HDF5|H5|[A-Z0-9_]{2,}|[A-Z]\w*[A-Z0-9]\w*|Blosc\w*|Caterva|Go|Unicode|NaN|Linux|Landlock|Adler|Fletcher|Debian|Zstd|Python|S3|MessagePack|Szip|N-Bit|[A-Z])\b`)
	n := 0
	for _, f := range tree(t) {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			fn, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := fn.X.(*ast.Ident)
			if !ok || !(pkg.Name == "errors" && fn.Sel.Name == "New" || pkg.Name == "fmt" && fn.Sel.Name == "Errorf") {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			s, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			n++
			first, _ := utf8.DecodeRuneInString(s)
			if unicode.IsUpper(first) && !capital.MatchString(s) || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") {
				t.Errorf("%s: got %q, want a lower-case message without a full stop", f.Path, s)
			}
			if c := function.FindString(s); c != "" && !strings.HasPrefix(filepath.ToSlash(f.Path), "scripts/") {
				t.Errorf("%s: got the C function %s in %q, want its meaning", f.Path, c, s)
			}
			return true
		})
	}
	require.Greater(t, n, 1000)
}
