package lint

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
)

// Module is the path of this module.
const Module = "github.com/hyperslab/hyperslab"

// File is one parsed Go file.
type File struct {
	Path    string // relative to the root, with slashes
	Dir     string // directory of the file, "." for the root
	Test    bool   // *_test.go
	AST     *ast.File
	Set     *token.FileSet
	Imports []string
}

// ignored are directories in the root that git ignores or that do not contain code of this project.
var ignored = map[string]bool{".git": true, "bin": true, "dist": true, "vendor": true, ".fresh": true, ".demo": true, ".venv": true, "third_party": true}

// Tree parses every Go file below root, the root of the module. Directories named testdata are
// omitted.
func Tree(root string) ([]File, error) {
	var files []File
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (ignored[p] || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go"):
			return nil
		}
		f := File{Path: p, Dir: path.Dir(p), Test: strings.HasSuffix(p, "_test.go"), Set: token.NewFileSet()}
		if f.AST, err = parser.ParseFile(f.Set, filepath.Join(root, p), nil, parser.ParseComments); err != nil {
			return err
		}
		for _, s := range f.AST.Imports {
			name, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			f.Imports = append(f.Imports, name)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// Identifiers counts the constants, variables, functions and types in a list of api/*.txt. Methods
// and fields are not counted.
func Identifiers(list string) int {
	count := 0
	for line := range strings.Lines(list) {
		switch kind, _, _ := strings.Cut(line, " "); kind {
		case "const", "var", "func", "type":
			count++
		}
	}
	return count
}
