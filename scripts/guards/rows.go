// The rows files, one for each library, which describe how each guard is disabled.
//
//	# a comment
//	guard NAME              a row of docs/defects.md, by the column "defect"
//	test PACKAGE REGEXP     the tests that must fail without the guard
//	edit FILE               an edit of FILE; the next lines are the old lines, each after a -,
//	-old line               and the new lines, each after a +
//	+new line
//	skip why                instead of an edit: the guard cannot be disabled
//	passes why              the tests pass without the guard, for example because only a sanitizer
//	                        detects the error
//
// The old lines must occur exactly once in FILE. White space at the start of lines is ignored when
// they are searched, so that an edit survives a change of indentation.

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// guard is a row of docs/defects.md and the edits that disable its guard.
type guard struct {
	library, name string
	where         string // file and line of the row
	pkg, tests    string
	edits         []*edit
	skip, passes  string
}

// edit replaces lines of a file.
type edit struct {
	file     string
	old, new []string
}

// libraries maps the names in docs/defects.md to rows files.
var libraries = []struct{ name, file string }{
	{"C-Blosc2", "cblosc.rows"},
	{"HDF5", "h5.rows"},
}

// readGuards returns the guards of both files.
func readGuards(dir string) (all []*guard, err error) {
	for _, l := range libraries {
		file := filepath.Join(dir, l.file)
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		g, err := parseGuards(l.name, file, string(b))
		if err != nil {
			return nil, err
		}
		all = append(all, g...)
	}
	return all, nil
}

func parseGuards(library, file, text string) (all []*guard, err error) {
	var g *guard
	for i, line := range strings.Split(text, "\n") {
		where := fmt.Sprintf("%s:%d", file, i+1)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if g == nil && word != "guard" {
			return nil, fmt.Errorf("%s: got %q, want a line that starts with guard", where, line)
		}
		switch {
		case line[0] == '-' || line[0] == '+':
			if len(g.edits) == 0 {
				return nil, fmt.Errorf("%s: got %q, want a line that starts with edit before it", where, line)
			}
			e := g.edits[len(g.edits)-1]
			if line[0] == '+' {
				e.new = append(e.new, line[1:])
			} else if e.new != nil {
				return nil, fmt.Errorf("%s: an old line after new lines, want another line that starts with edit", where)
			} else {
				e.old = append(e.old, line[1:])
			}
		case word == "guard":
			g = &guard{library: library, name: rest, where: where}
			all = append(all, g)
		case word == "test":
			g.pkg, g.tests, _ = strings.Cut(rest, " ")
		case word == "edit":
			g.edits = append(g.edits, &edit{file: rest})
		case word == "skip":
			g.skip = rest
		case word == "passes":
			g.passes = rest
		default:
			return nil, fmt.Errorf("%s: got %q, want guard, test, edit, skip, passes, or a line that starts with - or +", where, word)
		}
	}
	for _, g := range all {
		if (g.skip == "") == (len(g.edits) == 0) {
			return nil, fmt.Errorf("%s: guard %q: want either edits or a reason to skip", g.where, g.name)
		}
		if g.skip == "" && (g.pkg == "" || g.tests == "") {
			return nil, fmt.Errorf("%s: guard %q: want a package and tests", g.where, g.name)
		}
	}
	return all, nil
}

// errEdit is an edit whose old lines do not occur exactly once.
var errEdit = errors.New("the old lines must occur once")

// apply returns the lines of text after the edit.
func (e *edit) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	found := -1
	for i := 0; i+len(e.old) <= len(lines); i++ {
		equal := true
		for j, o := range e.old {
			equal = equal && strings.TrimSpace(lines[i+j]) == strings.TrimSpace(o)
		}
		if equal && found >= 0 {
			return "", fmt.Errorf("%s: lines %d and %d: %w: %q", e.file, found+1, i+1, errEdit, e.old)
		}
		if equal {
			found = i
		}
	}
	if found < 0 || len(e.old) == 0 {
		return "", fmt.Errorf("%s: not found: %w: %q", e.file, errEdit, e.old)
	}
	out := append([]string(nil), lines[:found]...)
	out = append(out, e.new...)
	return strings.Join(append(out, lines[found+len(e.old):]...), "\n"), nil
}

// replaced returns the content of the edited files, by their path below root.
func (g *guard) replaced(root string) (map[string]string, error) {
	files := make(map[string]string)
	for _, e := range g.edits {
		text, ok := files[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("%s: guard %q: %w", g.where, g.name, err)
			}
			text = string(b)
		}
		text, err := e.apply(text)
		if err != nil {
			return nil, fmt.Errorf("%s: guard %q: %w", g.where, g.name, err)
		}
		files[e.file] = text
	}
	return files, nil
}
