// Command surface lists the exported declarations of the public packages in api/*.txt, one file for
// each package and one line for each constant, variable, function, type, field and method. `make
// surface` runs it. With -check it writes nothing and prints the lines that differ, so that a
// commit shows each change of the Go API. It reads the declarations of linux/amd64 with cgo.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/hyperslab/hyperslab"

func main() {
	check := flag.Bool("check", false, "write no file; print the lines that differ and fail if there are any")
	flag.Parse()
	if err := run("api", *check); err != nil {
		fmt.Fprintf(os.Stderr, "surface: %v\n", err)
		os.Exit(1)
	}
}

// run writes or compares the lists in a directory.
func run(dir string, check bool) error {
	want, err := lists()
	if err != nil {
		return err
	}
	have, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	different := 0
	for _, file := range have {
		if _, ok := want[filepath.Base(file)]; ok {
			continue
		}
		if different++; !check {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
		fmt.Printf("%s: the package is gone\n", file)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		file := filepath.Join(dir, name)
		old, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if string(old) == want[name] {
			continue
		}
		different++
		if old != nil {
			printDifference(file, string(old), want[name])
		}
		if !check {
			if err := cmp.Or(os.MkdirAll(dir, 0o755), os.WriteFile(file, []byte(want[name]), 0o600)); err != nil {
				return err
			}
		}
	}
	if check && different > 0 {
		return fmt.Errorf("%d lists differ from the code; run `make surface` and explain the change in CHANGELOG.md", different)
	}
	return nil
}

// printDifference prints the lines that are in one of two sorted lists.
func printDifference(file, old, now string) {
	before, after := strings.Split(old, "\n"), strings.Split(now, "\n")
	for _, line := range before {
		if !slices.Contains(after, line) {
			fmt.Printf("%s: - %s\n", file, line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			fmt.Printf("%s: + %s\n", file, line)
		}
	}
}

// lists returns the list of each public package by the name of its file.
func lists() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,GoFiles,CgoFiles", "./...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct {
			ImportPath, Dir, Name string
			GoFiles, CgoFiles     []string
		}
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if p.Name == "main" || private(path) {
			continue
		}
		lines, err := declarations(p.Dir, append(p.GoFiles, p.CgoFiles...))
		if err != nil {
			return nil, err
		}
		name := strings.ReplaceAll(cmp.Or(path, p.Name), "/", "-") + ".txt"
		all[name] = strings.Join(lines, "\n") + "\n"
	}
	return all, nil
}

// private reports whether a directory is no package for users of the module.
func private(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return slices.Contains([]string{"scripts", "third_party"}, first) ||
		slices.Contains(strings.Split(path, "/"), "internal")
}

// declarations returns the sorted lines of a package.
func declarations(dir string, files []string) ([]string, error) {
	fset := token.NewFileSet()
	var lines []string
	add := func(kind string, node any) error {
		var b strings.Builder
		if err := (&printer.Config{Mode: printer.RawFormat}).Fprint(&b, fset, node); err != nil {
			return err
		}
		lines = append(lines, strings.TrimSpace(kind+" "+strings.Join(strings.Fields(b.String()), " ")))
		return nil
	}
	for _, name := range files {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if err := declaration(d, add); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// declaration adds the lines of one declaration.
func declaration(d ast.Decl, add func(kind string, node any) error) error {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
			return nil
		}
		d.Body, d.Doc = nil, nil
		return add("", d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if !s.Name.IsExported() {
					continue
				}
				if err := typeSpec(s, add); err != nil {
					return err
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if !n.IsExported() {
						continue
					}
					if err := add(d.Tok.String(), n); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// typeSpec adds a type, and a line for each exported field or method of its own.
func typeSpec(s *ast.TypeSpec, add func(kind string, node any) error) error {
	s.Doc, s.Comment = nil, nil
	if s.Assign.IsValid() { // an alias
		return add("type", s)
	}
	var members *ast.FieldList
	kind := ""
	switch t := s.Type.(type) {
	case *ast.StructType:
		members, kind = t.Fields, "struct"
	case *ast.InterfaceType:
		members, kind = t.Methods, "interface"
	default:
		return add("type", s)
	}
	head := &ast.TypeSpec{Name: s.Name, TypeParams: s.TypeParams, Type: ast.NewIdent(kind)}
	if err := add("type", head); err != nil {
		return err
	}
	for _, m := range members.List {
		if len(m.Names) == 0 { // embedded
			if err := add(kind+" "+s.Name.Name+" embeds", m.Type); err != nil {
				return err
			}
		}
		for _, n := range m.Names {
			if !n.IsExported() {
				continue
			}
			if err := add(kind+" "+s.Name.Name+" "+n.Name, m.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// receiver returns the name of the type of a method.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
