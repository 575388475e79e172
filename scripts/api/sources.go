// What the sources say: which C function of a shim, and which Go function, leads
// to a function of the library. Names are enough for that: the C is one set of
// files with plain calls, and helpers of one Go package have names of their own.

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	comments    = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"`)
	definition  = regexp.MustCompile(`(?m)^[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{`)
	macro       = regexp.MustCompile(`(?m)^#define\s+(\w+)((?:[^\n\\]|\\\n|\\.)*)`)
	identifiers = regexp.MustCompile(`[A-Za-z_]\w*`)
)

func withoutComments(c string) string { return comments.ReplaceAllString(c, " ") }

// mentions maps the name of a function, or of a macro, to the names in its body.
type mentions map[string]map[string]bool

func (m mentions) add(name, body string) {
	if m[name] == nil {
		m[name] = make(map[string]bool)
	}
	for _, id := range identifiers.FindAllString(body, -1) {
		m[name][id] = true
	}
}

// cFunctions reads the shims of a package, and the macros of the library's
// headers, which may stand for calls: H5T_NATIVE_INT opens the library.
func cFunctions(build, dir string) (mentions, error) {
	out := make(mentions)
	include := filepath.Join(build, "include")
	for _, pattern := range []string{dir + "/shim*.c", dir + "/shim*.h", include + "/*.h"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			text := withoutComments(string(b))
			for _, m := range macro.FindAllStringSubmatch(text, -1) {
				out.add(m[1], m[2])
			}
			for _, at := range definition.FindAllStringSubmatchIndex(text, -1) {
				out.add(text[at[2]:at[3]], text[at[1]:bodyEnd(text, at[1])])
			}
		}
	}
	return out, nil
}

// bodyEnd is where the block that was opened before start ends.
func bodyEnd(text string, start int) int {
	depth := 1
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// goFunctions reads the Go files of a package: the C names and the Go names that
// each function mentions. Methods are called Type.Method.
func goFunctions(dir string) (c, g mentions, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	c, g = make(mentions), make(mentions)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = receiver(fn.Recv.List[0].Type) + "." + name
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "C" {
						c.add(name, n.Sel.Name)
						return false
					}
					g.add(name, n.Sel.Name)
				case *ast.Ident:
					g.add(name, n.Name)
				}
				return true
			})
		}
	}
	return c, g, nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// closure gives all names reached from a name through m.
func (m mentions) closure(from string, reached map[string]bool) {
	for id := range m[from] {
		if !reached[id] {
			reached[id] = true
			m.closure(id, reached)
		}
	}
}

// callers finds, for each C name, the exported Go functions that lead to it. A
// helper stands for those who call it.
func callers(build, dir string) (map[string][]string, error) {
	shims, err := cFunctions(build, dir)
	if err != nil {
		return nil, err
	}
	c, g, err := goFunctions(dir)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]string)
	for fn, names := range c {
		reached := make(map[string]bool)
		for name := range names {
			reached[name] = true
			shims.closure(name, reached)
		}
		for _, public := range g.publicCallers(fn, map[string]bool{}) {
			for name := range reached {
				if !slices.Contains(out[name], public) {
					out[name] = append(out[name], public)
				}
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out, nil
}

// publicCallers climbs from fn to functions that a user can call.
func (m mentions) publicCallers(fn string, seen map[string]bool) []string {
	if seen[fn] {
		return nil
	}
	seen[fn] = true
	typ, method, isMethod := strings.Cut(fn, ".")
	name := fn
	if isMethod {
		name = method
	}
	switch {
	case fn == "init", ast.IsExported(name) && (!isMethod || ast.IsExported(typ)):
		return []string{fn}
	case typ == "object" && ast.IsExported(name): // embedded in both
		return []string{"Group." + name, "Dataset." + name}
	}
	// Where methods of several types have that name, functions that speak of this
	// type come first, and others count only if there is none.
	var near, far []string
	for other, names := range m {
		switch {
		case !names[name]:
		case m.methods(name) < 2 || names[typ] || strings.HasPrefix(other, typ+"."):
			near = append(near, other)
		default:
			far = append(far, other)
		}
	}
	for _, others := range [][]string{near, far} {
		var out []string
		slices.Sort(others)
		for _, other := range others {
			out = append(out, m.publicCallers(other, seen)...)
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// methods counts the types that have a method of that name.
func (m mentions) methods(name string) int {
	n := 0
	for fn := range m {
		if strings.HasSuffix(fn, "."+name) {
			n++
		}
	}
	return n
}
