// The Go call graph: the functions of a package that call its shims, the exported functions that
// lead to them, and the tests that reach those. The packages are type-checked, so that each name
// refers to the right object.

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// calls is the static call graph of one package, the packages above it, and their tests. Functions
// have the names of types.Func.FullName. A reference counts as a call.
type calls struct {
	path   string                     // import path of the package
	uses   map[string]map[string]bool // function → functions that it mentions
	usedBy map[string]map[string]bool // the reverse
	tests  map[string]string          // tests, fuzz targets and examples: full name → short
	public map[string][]string        // exported functions: full name → short names, several for a promoted method
	byName map[string][]*types.Func   // methods of the package by name, for calls through interfaces
}

// loadCalls reads the package in dir and the packages above it, with their tests.
func loadCalls(dir string, above ...string) (*calls, error) {
	patterns := []string{"./" + dir}
	for _, a := range above {
		patterns = append(patterns, "./"+a)
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Tests: true}, patterns...)
	if err != nil {
		return nil, err
	}
	g := &calls{uses: make(map[string]map[string]bool), usedBy: make(map[string]map[string]bool), tests: make(map[string]string), public: make(map[string][]string)}
	var all []*types.Func
	for _, p := range pkgs {
		for _, e := range p.Errors {
			return nil, fmt.Errorf("%s: %w", p.ID, e)
		}
		if strings.HasSuffix(p.PkgPath, ".test") {
			continue // the generated main
		}
		if !strings.HasSuffix(p.PkgPath, "_test") {
			prefix := p.Types.Name() + "."
			if strings.HasSuffix(p.PkgPath, "/"+dir) {
				g.path, prefix = p.PkgPath, ""
			}
			g.publish(p.Types, prefix)
		}
		all = append(all, methods(p.Types)...)
	}
	g.byName = make(map[string][]*types.Func)
	for _, m := range all {
		g.byName[m.Name()] = append(g.byName[m.Name()], m)
	}
	for _, p := range pkgs {
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				g.declaration(p, d)
			}
		}
	}
	for from, names := range g.uses {
		for to := range names {
			add(g.usedBy, to, from)
		}
	}
	return g, nil
}

func add(m map[string]map[string]bool, from, to string) {
	if m[from] == nil {
		m[from] = make(map[string]bool)
	}
	m[from][to] = true
}

// methods lists the methods of a package's types.
func methods(p *types.Package) []*types.Func {
	var out []*types.Func
	for _, name := range p.Scope().Names() {
		if named, ok := p.Scope().Lookup(name).Type().(*types.Named); ok {
			for m := range named.Methods() {
				out = append(out, m)
			}
		}
	}
	return out
}

// declaration records the functions that a declaration mentions. Those of a variable's initial
// value belong to init.
func (g *calls) declaration(p *packages.Package, d ast.Decl) {
	from := p.PkgPath + ".init"
	if fn, ok := d.(*ast.FuncDecl); ok {
		f, ok := p.TypesInfo.Defs[fn.Name].(*types.Func)
		if !ok {
			return
		}
		from = f.FullName()
		if isTest(fn) && strings.HasSuffix(p.Fset.Position(fn.Pos()).Filename, "_test.go") {
			g.tests[from] = fn.Name.Name
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		switch o := p.TypesInfo.Uses[id].(type) {
		case *types.Func:
			g.mention(from, o.Origin())
		case *types.Var:
			if name, ok := strings.CutPrefix(o.Name(), "_Cfpvar_fp_"); ok { // the address of a C function
				add(g.uses, from, g.path+"._Cfunc_"+name)
			}
		}
		return true
	})
}

// mention records that from mentions f. If f is a method of an interface, it also records the
// methods that implement it.
func (g *calls) mention(from string, f *types.Func) {
	add(g.uses, from, f.FullName())
	recv := f.Signature().Recv()
	if recv == nil {
		return
	}
	iface, ok := recv.Type().Underlying().(*types.Interface)
	if !ok {
		return
	}
	for _, m := range g.byName[f.Name()] {
		t := m.Signature().Recv().Type()
		if types.Implements(t, iface) || types.Implements(types.NewPointer(t), iface) {
			add(g.uses, from, m.FullName())
		}
	}
}

func isTest(fn *ast.FuncDecl) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if strings.HasPrefix(fn.Name.Name, prefix) && fn.Name.Name != "TestMain" && fn.Recv == nil {
			return true
		}
	}
	return false
}

// callers returns the exported functions that lead to a C function, by their short names, for
// example Array.Resize. The name init stands for package initialization.
func (g *calls) callers(c string) []string {
	out := make(map[string]bool)
	seen := make(map[string]bool)
	var climb func(fn string)
	climb = func(fn string) {
		if seen[fn] {
			return
		}
		seen[fn] = true
		if shorts := g.exported(fn); len(shorts) > 0 {
			for _, short := range shorts {
				out[short] = true
			}
			return
		}
		for by := range g.usedBy[fn] {
			climb(by)
		}
	}
	for _, prefix := range []string{"._Cfunc_", "._C2func_", "._Cmacro_"} {
		climb(g.path + prefix + c)
	}
	return slices.Sorted(maps.Keys(out))
}

// publish lists the functions of a package that a user can call, for example Create and
// Array.Resize, with a prefix. A method of an unexported type counts for the types that embed it.
func (g *calls) publish(p *types.Package, prefix string) {
	note := func(f *types.Func, short string) {
		short = prefix + short
		if name := f.Origin().FullName(); !slices.Contains(g.public[name], short) {
			g.public[name] = append(g.public[name], short)
		}
	}
	for _, name := range p.Scope().Names() {
		if !ast.IsExported(name) {
			continue
		}
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Func:
			note(o, name)
		case *types.TypeName:
			if types.IsInterface(o.Type()) {
				continue
			}
			set := types.NewMethodSet(types.NewPointer(o.Type()))
			for m := range set.Methods() {
				if f, ok := m.Obj().(*types.Func); ok && f.Exported() && f.Pkg() == p {
					note(f, name+"."+f.Name())
				}
			}
		}
	}
}

// exported returns the short names of a function that a user can call.
func (g *calls) exported(fn string) []string {
	if fn == g.path+".init" {
		return []string{"init"}
	}
	return g.public[fn]
}

// reachedBy returns the first of the exported functions that a test leads to, or "". Every test
// reaches package initialization.
func (g *calls) reachedBy(test string, shorts []string) string {
	known := slices.Contains(slices.Collect(maps.Values(g.tests)), test)
	for _, short := range shorts {
		if short == "init" && known || g.leads(test, g.named(short), make(map[string]bool)) {
			return short
		}
	}
	return ""
}

// leads reports whether a test is among the direct and indirect callers of the given functions.
func (g *calls) leads(test string, to, seen map[string]bool) bool {
	for fn := range to {
		if g.tests[fn] == test {
			return true
		}
		if !seen[fn] {
			seen[fn] = true
			if g.leads(test, g.usedBy[fn], seen) {
				return true
			}
		}
	}
	return false
}

// named returns the functions that a user calls by a short name.
func (g *calls) named(short string) map[string]bool {
	out := make(map[string]bool)
	for fn := range g.usedBy {
		if slices.Contains(g.exported(fn), short) {
			out[fn] = true
		}
	}
	return out
}

// test returns the test that is nearest to an exported function, or "".
func (g *calls) test(short string) string {
	level := g.named(short)
	seen := maps.Clone(level)
	for len(level) > 0 {
		var found []string
		next := make(map[string]bool)
		for fn := range level {
			for by := range g.usedBy[fn] {
				if t := g.tests[by]; t != "" {
					found = append(found, t)
				}
				if !seen[by] {
					seen[by], next[by] = true, true
				}
			}
		}
		if len(found) > 0 {
			return slices.MinFunc(found, func(a, b string) int {
				return cmp.Or(cmp.Compare(rank(a, short), rank(b, short)), strings.Compare(a, b))
			})
		}
		level = next
	}
	return ""
}

// rank orders tests by their relevance for a function. Tests that are named after it come first,
// then those named after its type. Tests of refused input come last.
func rank(test, short string) int {
	name := strings.ToLower(test)
	typ, method, _ := strings.Cut(strings.ToLower(short), ".")
	n := 0
	if method == "" || !strings.Contains(name, method) {
		n += 2
	}
	if !strings.Contains(name, typ) {
		n++
	}
	if refusals.MatchString(test) {
		n += 8
	}
	if !strings.HasPrefix(test, "Test") {
		n += 4
	}
	return n
}

var refusals = regexp.MustCompile("Refuse|Validate|Closed|BadInput|Limit|Without|TooMany")
