// Tests of the layers of the module: the allowed imports of each package, and the packages that may
// import "C".
package lint_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/lint"
)

// layers are the layers of the module, from the lowest. A package may import packages of lower
// layers, and of its own layer if the last column allows it. The longest matching directory
// decides.
var layers = []struct {
	dir   string
	level int
	own   bool // packages of this directory may import each other
}{
	{"third_party", -1, true}, // the archives
	{"internal", 0, true},
	{"internal/hdf5/h5check", 40, false},
	{"internal/hdf5/h5copy", 50, false},
	{"internal/hdf5/h5objects", 51, false},
	{"internal/hdf5/kerchunk", 67, false},
	{"internal/hdf5/h5cloud", 51, false},
	{"internal/hdf5/h5repack", 52, false},
	{"internal/sandbox/worker", 12, false},
	{"internal/format/detect", 20, false},
	{"internal/files/atomicfile", 25, false},
	{"internal/location/locate", 20, false},
	{"internal/hdf5/h5walk", 60, false},
	{"internal/hdf5/h5parts", 15, false},
	{"internal/verify", 70, false},
	{"internal/recovery", 80, false},
	{"internal/hdf5/h5types", 30, false},
	{"internal/hdf5/h5attr", 35, false},
	{"internal/hdf5/h5names", 25, false},
	{"internal/hdf5/h5elem", 25, false},
	{"internal/hdf5/striped", 30, false},
	{"internal/verify/scan", 20, false},
	{"internal/tree/shards", 50, false},
	{"internal/tree", 55, false},
	{"internal/tree/frames", 61, false},
	{"internal/tree/npyfile", 61, false},
	{"internal/tree/carrays", 61, false},
	{"internal/tree/h5tree", 61, false},
	{"internal/tree/containers", 62, false},
	{"internal/tree/directories", 62, false},
	{"internal/tree/opener", 63, false},
	{"internal/tree/isolated", 64, false},
	{"internal/tree/treetest", 65, false},
	{"internal/draft", 66, false},
	{"internal/tree/chunkmap", 66, false},
	{"internal/tree/treecopy", 67, false},
	{"internal/tree/opened", 65, false},
	{"internal/tree/treediff", 68, false},
	{"internal/format/npy", 15, false},
	{"internal/picture", 25, false},
	{"internal/elements/indexes", 15, false},
	{"ndarray/cf", 20, false},
	{"internal/elements/jsonform", 15, false},
	{"internal/elements/encode", 25, false},
	{"internal/blosc/stores", 50, false},
	{"internal/testkit/storeattack", 50, false},
	{"internal/testkit/samples", 20, false},
	{"internal/testkit/pairwise", 20, false},
	{"internal/tree/textview", 60, false},
	{"internal/tree/numberview", 60, false},
	{"internal/testkit", 110, true}, // helpers of tests
	{"internal/tree/converted", 60, false},
	{"internal/hdf5/dimscale", 40, false},
	{"internal/format", 10, true},
	{"internal/guard", 15, false},
	{"internal/blosc/blosc1", 25, false},
	{"internal/blosc/caterva", 30, false},
	{"internal/location/urlfile", 15, false},
	{"remote", 20, false},
	{"internal/hdf5/h5prefetch", 45, false},
	{"cblosc", 20, false},
	{"h5", 20, false},
	{"h5/filter", 30, false},
	{"h5/chunkio", 40, false},
	{"h5/h5value", 30, false},
	{"h5/ddl", 40, false},
	{"cblosc/frameio", 40, false},
	{"ndarray", 5, false}, // of this module, the core imports only internal
	{"ndarray/ndarraytest", 50, false},
	{"ndarray/mem", 50, false},
	{"ndarray/npy", 50, false},
	{"ndarray/b2nd", 50, false},
	{"ndarray/hdf5", 50, false},
	{"ndarray/bcolz", 50, false},
	{".", 90, false}, // the module root
	{"plan", 95, false},
	{"beam", 110, true}, // a separate module
	{"serve", 100, false},
	{"crosscheck", 100, true},
	{"scripts/crosscheck", 110, false}, // a separate module
	{"examples", 120, true},
	{"scripts", 120, true},
	{"cmd", 120, true},
}

// layerOf returns the row of layers for a directory.
func layerOf(dir string) (row int, ok bool) {
	best := -1
	for i, s := range layers {
		if (dir == s.dir || strings.HasPrefix(dir, s.dir+"/")) && (best < 0 || len(s.dir) > len(layers[best].dir)) {
			best = i
		}
	}
	return best, best >= 0
}

// allowedOutside reports whether a directory may import a library outside of the standard library.
// Below the command these are few, each for one reason.
func allowedOutside(dir, imp string) bool {
	switch {
	case dir == "scripts/crosscheck":
		return true // the module with the libraries to compare with
	case dir == "beam" || strings.HasPrefix(dir, "beam/"):
		return true // the module of the distributed runner
	case dir == "scripts/release/beside":
		return true // the module of a check of releases
	case strings.HasPrefix(imp, "golang.org/x/sys"), strings.HasPrefix(imp, "golang.org/x/sync"):
		return true
	case strings.HasPrefix(imp, "gonum.org/v1/plot"):
		return dir == "internal/picture" || strings.HasPrefix(dir, "cmd/")
	case imp == "github.com/klauspost/compress/zstd":
		return dir == "serve" || dir == "remote" || dir == "internal/verify/scan" || dir == "internal/format/parquet" // compressed responses, index files, metalayers, pages
	case strings.HasPrefix(imp, "github.com/stretchr/testify"), imp == "pgregory.net/rapid", imp == "go.uber.org/goleak":
		// These packages contain tests that other packages run.
		return dir == "ndarray/ndarraytest" || dir == "internal/testkit/samples" || dir == "internal/testkit/leak" || dir == "internal/testkit/testutil" || dir == "internal/testkit/filetest" || dir == "internal/tree/treetest" || strings.HasPrefix(dir, "crosscheck")
	case strings.HasPrefix(imp, "github.com/landlock-lsm/go-landlock"), strings.HasPrefix(imp, "github.com/elastic/go-seccomp-bpf"), imp == "golang.org/x/net/bpf":
		return dir == "internal/sandbox/worker" // restrictions of a worker process
	case imp == "golang.org/x/net/html":
		return dir == "serve" // pages
	case strings.HasPrefix(imp, "github.com/minio/minio-go/v7"), imp == "gopkg.in/ini.v1", imp == "golang.org/x/net/publicsuffix":
		return dir == "remote" // credentials, signatures and uploads of S3, cookies
	case strings.HasPrefix(imp, "github.com/johannesboyne/gofakes3"):
		return dir == "internal/testkit/s3test" // the server of tests
	case strings.HasPrefix(dir, "cmd/"), strings.HasPrefix(dir, "scripts/"):
		return true
	}
	return false
}

func TestLayers_direction(t *testing.T) {
	checked := 0
	for _, f := range tree(t) {
		if f.Test {
			continue // tests may import packages of any layer, for example to compare formats
		}
		from, ok := layerOf(f.Dir)
		require.True(t, ok, "%s: the directory has no layer: add a row in layers_test.go", f.Path)
		for _, imp := range f.Imports {
			if !strings.HasPrefix(imp, lint.Module) {
				standard := !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
				require.True(t, standard || allowedOutside(f.Dir, imp), "%s imports %s: not one of the libraries this directory may use", f.Path, imp)
				continue
			}
			dir := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(imp, lint.Module), "/"), ".")
			to, ok := layerOf(dir)
			require.True(t, ok, "%s imports %s, which has no layer", f.Path, imp)
			a, b := layers[from], layers[to]
			if from == to {
				require.True(t, a.own || dir == f.Dir, "%s imports %s of the same layer", f.Path, imp)
			} else {
				require.Greater(t, a.level, b.level, "%s (layer %d) imports %s (layer %d): dependencies point down only", f.Path, a.level, imp, b.level)
			}
			checked++
		}
	}
	require.Greater(t, checked, 10, "the rule checked too few imports")
}

// TestLayers_templates: templates call methods by name, so the linker keeps all exported methods of
// all types in a program that uses them. Without them the command is a tenth smaller.
func TestLayers_templates(t *testing.T) {
	for _, f := range tree(t) {
		if !f.Test && !strings.HasPrefix(f.Dir, "scripts/") {
			require.NotContains(t, f.Imports, "html/template", f.Path)
			require.NotContains(t, f.Imports, "text/template", f.Path)
		}
	}
}

// cDirectories are the only directories that may import "C".
var cDirectories = map[string]bool{"cblosc": true, "h5": true, "h5/filter": true, "internal/cmem": true}

func TestLayers_cgo(t *testing.T) {
	seen := 0
	for _, f := range tree(t) {
		for _, imp := range f.Imports {
			if imp != "C" {
				continue
			}
			require.True(t, cDirectories[f.Dir], "%s: import \"C\" belongs to cblosc, h5, h5/filter and internal/cmem", f.Path)
			require.False(t, f.Test, "%s: cgo cannot stand in a test file", f.Path)
			seen++
		}
	}
	require.Positive(t, seen)
}

// TestArchives_declareNothing checks that the packages with the archives, which import "C" for the
// flags of the linker, contain imports only.
func TestArchives_declareNothing(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "third_party", "lib", "*", "lib.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			require.True(t, ok && g.Tok == token.IMPORT, "%s: a declaration that is not an import", file)
		}
	}
}

func TestLayers_backends(t *testing.T) {
	for _, f := range tree(t) {
		if f.Dir != "ndarray" || f.Test {
			continue
		}
		for _, imp := range f.Imports {
			rest, ours := strings.CutPrefix(imp, lint.Module+"/")
			require.True(t, !ours || strings.HasPrefix(rest, "internal/"), "%s imports %s: the array type knows no backend", f.Path, imp)
		}
	}
}

// TestImports_Readers checks that the bindings import the readers of the formats only through
// package guard.
func TestImports_Readers(t *testing.T) {
	const readers = lint.Module + "/internal/format"
	checked := 0
	for _, f := range tree(t) {
		if f.Test {
			continue
		}
		binding := f.Dir == "cblosc" || f.Dir == "h5" || f.Dir == "h5/filter"
		for _, imp := range f.Imports {
			if imp == lint.Module+"/internal/guard" && binding {
				checked++
			}
			require.False(t, binding && (imp == readers || strings.HasPrefix(imp, readers+"/")), "%s imports %s: a binding uses package guard", f.Path, imp)
		}
	}
	require.Greater(t, checked, 5, "the bindings hardly use package guard")
}

// TestLayers_functionVariables checks that no package sets a function of another package through a
// variable, because such a connection is not visible in the imports. A variable of a package may
// hold a function only if it is not exported.
func TestLayers_functionVariables(t *testing.T) {
	require.True(t, holdsFunction(specOf(t, "var F func()")))
	require.True(t, holdsFunction(specOf(t, "var F = func() {}")))
	require.False(t, holdsFunction(specOf(t, "var F = func() int { return 1 }()")))
	for _, f := range tree(t) {
		if f.Test || f.AST.Name.Name == "main" {
			continue
		}
		ours := map[string]bool{} // names of the imported packages of this module
		for _, imp := range f.AST.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			if path != lint.Module && !strings.HasPrefix(path, lint.Module+"/") {
				continue
			}
			name := path[strings.LastIndex(path, "/")+1:]
			if imp.Name != nil {
				name = imp.Name.Name
			}
			ours[name] = true
		}
		for _, decl := range f.AST.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for _, name := range v.Names {
					require.False(t, name.IsExported() && holdsFunction(v), "%s: the exported variable %s holds a function", f.Set.Position(name.Pos()), name.Name)
				}
			}
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			set, ok := n.(*ast.AssignStmt)
			if !ok || set.Tok != token.ASSIGN || strings.HasPrefix(f.Dir, "cmd/") {
				return true // the command may set defaults, for example remote.DefaultClient
			}
			for _, left := range set.Lhs {
				sel, ok := left.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				x, ok := sel.X.(*ast.Ident)
				local := ok && x.Obj != nil // a variable with the name of a package
				require.False(t, ok && !local && ours[x.Name], "%s: sets a variable of another package", f.Set.Position(left.Pos()))
			}
			return true
		})
	}
}

// holdsFunction reports whether a variable is declared with a function type or a function literal.
func holdsFunction(v *ast.ValueSpec) bool {
	if _, ok := v.Type.(*ast.FuncType); ok {
		return true
	}
	for _, value := range v.Values {
		if _, ok := value.(*ast.FuncLit); ok {
			return true
		}
	}
	return false
}

// specOf parses the declaration of a variable.
func specOf(t *testing.T, declaration string) *ast.ValueSpec {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+declaration, 0)
	require.NoError(t, err)
	return f.Decls[0].(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
}
