// Command metrics prints figures that show how the module grows: exported identifiers of each
// public package, lines of code, direct dependencies, the size of the command, the packages with C
// code or with access to the format readers, and rates of words. `make metrics` writes them to
// docs/metrics.txt. With -check it writes nothing and fails if a figure is larger than in that
// file, because a figure may rise only in a commit that gives the reason.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/hyperslab/hyperslab/internal/lint"
)

// file contains the figures of the last commit that changed one.
const file = "docs/metrics.txt"

// A figure is one row. Rates of words that have a lower limit may fall no further than that limit,
// so they are not compared.
type figure struct {
	name  string
	value float64
	free  bool // not compared
}

func main() {
	check := flag.Bool("check", false, "write no file; fail if a figure is larger than in "+file)
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintf(os.Stderr, "metrics: %v\n", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	figures, err := measure()
	if err != nil {
		return err
	}
	text, err := format(figures)
	if err != nil {
		return err
	}
	if !check {
		fmt.Print(text)
		return os.WriteFile(file, []byte(text), 0o600)
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return compare(figures, parse(string(old)))
}

// measure returns all figures. It runs in the root of the module.
func measure() ([]figure, error) {
	files, err := lint.Tree(".")
	if err != nil {
		return nil, err
	}
	var all []figure
	for _, part := range []func([]lint.File) ([]figure, error){identifiers, codeLines, dependencies, binarySize, imports, rates} {
		f, err := part(files)
		if err != nil {
			return nil, err
		}
		all = append(all, f...)
	}
	return all, nil
}

// identifiers counts the exported constants, variables, functions and types in api/*.txt.
func identifiers([]lint.File) ([]figure, error) {
	lists, err := filepath.Glob("api/*.txt")
	if err != nil {
		return nil, err
	}
	var figures []figure
	total := 0
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		count := lint.Identifiers(string(text))
		total += count
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(list), ".txt"), "-", "/")
		figures = append(figures, figure{name: "exported identifiers: " + name, value: float64(count)})
	}
	return append(figures, figure{name: "exported identifiers: all packages", value: float64(total)}), nil
}

// tools are directories of programs for maintainers and of code that only tests use.
var tools = []string{"crosscheck", "examples", "internal/testkit/filetest", "internal/testkit/leak", "internal/lint", "internal/testkit/testenv", "internal/testkit/samples", "internal/testkit/storeattack", "internal/testkit/testutil", "ndarray/ndarraytest", "scripts"}

// codeLines counts the lines of Go and C code without blank lines and comments, rounded up to
// hundreds, because smaller changes are not worth a change of the file.
func codeLines(files []lint.File) ([]figure, error) {
	lines := map[string]int{"product": 0, "tools": 0, "tests": 0}
	kind := func(path string) string {
		switch {
		case strings.HasSuffix(path, "_test.go"):
			return "tests"
		case slices.ContainsFunc(tools, func(dir string) bool { return strings.HasPrefix(path, dir+"/") }):
			return "tools"
		}
		return "product"
	}
	for _, f := range files {
		src, err := os.ReadFile(f.Path)
		if err != nil {
			return nil, err
		}
		lines[kind(f.Path)] += goLines(src)
	}
	out, err := exec.Command("git", "ls-files", "*.c", "*.h").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for _, path := range strings.Fields(string(out)) {
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		lines[kind(path)] += cLines(src)
	}
	var figures []figure
	for _, k := range slices.Sorted(maps.Keys(lines)) {
		figures = append(figures, figure{name: "code lines: " + k, value: float64((lines[k] + 99) / 100 * 100)})
	}
	return figures, nil
}

// goLines counts the lines of Go source on which a token begins or continues. A string with several
// lines counts each of them.
func goLines(src []byte) int {
	var s scanner.Scanner
	set := token.NewFileSet()
	f := set.AddFile("", set.Base(), len(src))
	s.Init(f, src, nil, 0)
	used := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return len(used)
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // inserted at the end of a line
		}
		first := f.Line(pos)
		for i := range strings.Count(text, "\n") + 1 {
			used[first+i] = true
		}
	}
}

// cLines counts the lines of C source that contain more than white space and comments.
func cLines(src []byte) int {
	count, inside := 0, false
	for line := range bytes.Lines(src) {
		rest, code := bytes.TrimSpace(line), false
		for len(rest) > 0 {
			if inside {
				_, after, found := bytes.Cut(rest, []byte("*/"))
				if !found {
					break
				}
				inside, rest = false, bytes.TrimSpace(after)
				continue
			}
			before, after, found := bytes.Cut(rest, []byte("/*"))
			if plain, _, _ := bytes.Cut(before, []byte("//")); len(bytes.TrimSpace(plain)) > 0 {
				code = true
			}
			if !found || bytes.Contains(before, []byte("//")) {
				break
			}
			inside, rest = true, after
		}
		if code {
			count++
		}
	}
	return count
}

// dependencies counts the direct requirements of go.mod.
func dependencies([]lint.File) ([]figure, error) {
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		return nil, fmt.Errorf("go mod edit: %w", err)
	}
	var m struct{ Require []struct{ Indirect bool } }
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, err
	}
	direct := 0
	for _, r := range m.Require {
		if !r.Indirect {
			direct++
		}
	}
	return []figure{{name: "direct dependencies", value: float64(direct)}}, nil
}

// binarySize builds the stripped command and returns its size in MB, rounded up to whole ones,
// because the paths of a machine that the binary contains change its size. The viewer of `make web`
// is not part of it.
func binarySize([]lint.File) ([]figure, error) {
	dir, err := os.MkdirTemp("", "metrics")
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "hyperslab")
	overlay, err := withoutViewer(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	out, err := exec.Command("go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", bin, "./cmd/hyperslab").CombinedOutput()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("go build: %w: %s", err, out), os.RemoveAll(dir))
	}
	info, err := os.Stat(bin)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return nil, err
	}
	return []figure{{name: "stripped command, MB", value: float64((info.Size() + 999_999) / 1_000_000)}}, nil
}

// withoutViewer writes an overlay of go build that hides the files of the viewer.
func withoutViewer(dir string) (string, error) {
	hidden := map[string]string{}
	err := filepath.WalkDir("serve/h5web/dist", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		hidden[name] = ""
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": hidden})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o600)
}

// imports counts the packages that contain C code and those outside of internal/format that import
// the format readers.
func imports(files []lint.File) ([]figure, error) {
	withC, readers := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.Test {
			continue
		}
		for _, name := range f.Imports {
			if name == "C" {
				withC[f.Dir] = true
			}
			if strings.HasPrefix(name, lint.Module+"/internal/format") && !strings.HasPrefix(f.Dir, "internal/format") {
				readers[f.Dir] = true
			}
		}
	}
	return []figure{{name: "packages with C code", value: float64(len(withC))}, {name: "packages that import format readers", value: float64(len(readers))}}, nil
}

// rates returns the rates of words per 10,000 words.
func rates(files []lint.File) ([]figure, error) {
	all, err := lint.Rates(".", files)
	if err != nil {
		return nil, err
	}
	figures := make([]figure, len(all))
	for i, r := range all {
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(r.Value, 'f', 0, 64), 64)
		if err != nil {
			return nil, err
		}
		figures[i] = figure{"words per 10,000 in " + r.Kind + ": " + strings.ReplaceAll(r.Words, "|", ", "), rounded, r.AtLeast}
	}
	return figures, nil
}

// format returns one line for each figure.
func format(figures []figure) (string, error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		fmt.Fprintf(w, "%s\t%s\n", f.name, strconv.FormatFloat(f.value, 'f', -1, 64))
	}
	err := w.Flush()
	return b.String(), err
}

// parse returns the figures of a text that format has written.
func parse(text string) map[string]float64 {
	old := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if i := strings.LastIndexByte(line, ' '); i > 0 {
			if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
				old[strings.TrimSpace(line[:i])] = v
			}
		}
	}
	return old
}

// compare returns an error that lists the figures that are larger than before or new.
func compare(figures []figure, old map[string]float64) error {
	var larger []string
	for _, f := range figures {
		before, known := old[f.name]
		switch {
		case !known:
			larger = append(larger, fmt.Sprintf("%s: %g, not in %s", f.name, f.value, file))
		case !f.free && f.value > before:
			larger = append(larger, fmt.Sprintf("%s: %g, before %g", f.name, f.value, before))
		}
	}
	if len(larger) > 0 {
		return fmt.Errorf("%d figures are larger than in %s; run `make metrics` and give the reason in the commit:\n%s", len(larger), file, strings.Join(larger, "\n"))
	}
	return nil
}
