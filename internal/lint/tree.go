// Access to the source tree for tests of rules: every Go file of the module is parsed once.
package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/hyperslab/hyperslab"

// root is the root of the module, relative to the directory of this package.
const root = "../.."

// goFile is one parsed Go file.
type goFile struct {
	path    string // relative to the root, with slashes
	dir     string // directory of the file, "." for the root
	test    bool   // *_test.go
	ast     *ast.File
	fset    *token.FileSet
	imports []string
}

// ignoredDirs are directories in the root that git ignores or that do not contain code of this
// project.
var ignoredDirs = map[string]bool{".git": true, "bin": true, "dist": true, "vendor": true, ".fresh": true, ".demo": true, ".venv": true, "third_party": true}

// parseTree parses the module once. All tests share the result.
var parseTree = sync.OnceValues(func() ([]goFile, error) {
	var files []goFile
	fsys := os.DirFS(root)
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if ignoredDirs[p] || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f := goFile{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), fset: token.NewFileSet()}
		if f.ast, err = parser.ParseFile(f.fset, filepath.Join(root, p), nil, parser.ParseComments); err != nil {
			return err
		}
		for _, s := range f.ast.Imports {
			name, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, name)
		}
		files = append(files, f)
		return nil
	})
	return files, err
})

// tree returns the parsed files. It fails if there are no files, because every test of a rule would
// pass without files.
func tree(t *testing.T) []goFile {
	t.Helper()
	files, err := parseTree()
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}
