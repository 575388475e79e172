// The account of a library: every function with its header, the Go functions that bind it and the
// test that calls them, or the reason why it is not bound.

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// function is one function of a library.
type function struct {
	name, header string
	how          string   // "bound", "subsumed", "out", "newer", or "" without a row
	by           []string // exported Go functions that lead to it, sorted
	test         string   // a test that calls the first of them
	text         string   // text of the row
	silent       bool     // no result of a test depends on it
}

// complaint returns the error in the row of a function, or "".
func (f *function) complaint() string {
	switch {
	case f.how == "":
		return "no row"
	case f.how == "bound" && len(f.by) == 0:
		return "called by a shim that no Go function leads to"
	case f.how != "out" && f.test == "":
		return fmt.Sprintf("no test calls %s", strings.Join(f.by, ", "))
	}
	return ""
}

// sources contains the functions of a library in its archive, its headers and the Go code.
type sources struct {
	library
	exported map[string]bool     // functions that the archive exports
	called   map[string]bool     // functions that objects of the package call
	headers  map[string]string   // function → header that declares it
	by       map[string][]string // function → exported Go functions that lead to it
	shims    mentions
	calls    *calls
}

// gather reads the sources of a library's account. Type-checking the package takes most of the
// time.
func gather(libs string, lib library) (*sources, error) {
	s := &sources{library: lib}
	var err error
	if s.exported, err = nm("T", filepath.Join(libs, lib.archive), "-g", "--defined-only"); err != nil {
		return nil, err
	}
	if s.called, err = undefined(libs, lib.dir); err != nil {
		return nil, err
	}
	if s.headers, err = headersOf(libs, lib.headers, s.exported); err != nil {
		return nil, err
	}
	if s.by, s.shims, s.calls, err = boundBy(libs, lib.dir, lib.above...); err != nil {
		return nil, err
	}
	return s, nil
}

// account lists the functions of the library in the order of their headers and names. The error
// contains every row that is wrong.
func (s *sources) account(rows *rows) ([]function, error) {
	var out []function
	var errs []error
	for name := range s.exported {
		if s.headers[name] == "" {
			continue // visible because a comment of a header contains the name, but not declared
		}
		f := function{name: name, header: s.headers[name]}
		lead := s.by[name]
		if len(lead) == 0 { // the name can be a macro of the header for the newest version: H5Dopen for H5Dopen2
			lead = s.by[version.ReplaceAllString(name, "")]
		}
		row := rows.find(name)
		switch {
		case s.called[name] || len(s.by[name]) > 0: // called by a shim, or directly from Go
			f.how, f.by = "bound", lead
			if row != nil && row.name == name {
				errs = append(errs, fmt.Errorf("%s:%d: %s is bound by %s: take the row out", rows.file, row.line, name, some(lead)))
				row.used = true
			}
		case row != nil:
			row.used = true
			f.how, f.text = row.kind, row.text
			if row.kind == "subsumed" {
				f.by = []string{row.function}
			}
		}
		out = append(out, f)
	}
	for _, row := range rows.list {
		if row.kind == "newer" {
			row.used = true
			if s.exported[row.name] || !s.shims.mentioned(row.name) {
				errs = append(errs, fmt.Errorf("%s:%d: %s is not newer than the linked library, or no shim mentions it", rows.file, row.line, row.name))
			}
			out = append(out, function{name: row.name, header: "", how: "newer", by: []string{row.function}, text: row.version})
		}
	}
	for i := range out {
		f := &out[i]
		for _, fn := range f.by {
			if f.test = s.calls.test(fn); f.test != "" {
				f.by = first(fn, f.by)
				break
			}
			if fn == "init" {
				f.test = "every test"
			}
		}
		if row := rows.tested(f.name); row != nil && (f.how == "bound" || f.how == "newer") {
			row.used = true
			fn := s.calls.reachedBy(row.test, f.by)
			if fn == "" {
				errs = append(errs, fmt.Errorf("%s:%d: %s reaches none of %s", rows.file, row.line, row.test, some(f.by)))
				continue
			}
			f.test, f.by = row.test, first(fn, f.by)
			if row.kind == "silent" {
				f.silent, f.text = true, row.text
			}
		}
	}
	for _, row := range rows.list {
		if !row.used {
			errs = append(errs, fmt.Errorf("%s:%d: %s stands for no function%s: take the row out", rows.file, row.line, row.name,
				map[bool]string{true: " that is bound", false: " that is not bound"}[row.kind == "test" || row.kind == "silent"]))
		}
	}
	slices.SortFunc(out, func(a, b function) int {
		return strings.Compare(a.header+" "+a.name, b.header+" "+b.name)
	})
	return out, errors.Join(errs...)
}

// first moves fn, which the test of a row calls, before the other functions that bind the same C
// function.
func first(fn string, by []string) []string {
	return append([]string{fn}, slices.DeleteFunc(slices.Clone(by), func(s string) bool { return s == fn })...)
}

var version = regexp.MustCompile(`[0-9]$`)

// boundBy finds, for each C name, the exported Go functions that lead to it through the shims.
func boundBy(libs, dir string, above ...string) (map[string][]string, mentions, *calls, error) {
	shims, err := cFunctions(libs, dir)
	if err != nil {
		return nil, nil, nil, err
	}
	g, err := loadCalls(dir, above...)
	if err != nil {
		return nil, nil, nil, err
	}
	by := make(map[string][]string)
	for fn := range g.usedBy {
		c := fn
		for _, prefix := range []string{"._Cfunc_", "._C2func_", "._Cmacro_"} {
			c = strings.TrimPrefix(c, g.path+prefix)
		}
		if c == fn {
			continue
		}
		reached := map[string]bool{c: true}
		shims.closure(c, reached)
		public := g.callers(c)
		for name := range reached {
			by[name] = append(by[name], public...)
		}
	}
	for name := range by {
		slices.Sort(by[name])
		by[name] = slices.Compact(by[name])
	}
	return by, shims, g, nil
}

func write(w io.Writer, lib library, functions []function) {
	count := make(map[string]int)
	total, bound := make(map[string]int), make(map[string]int)
	var order []string
	for _, f := range functions {
		count[f.how]++
		if f.how == "newer" {
			continue
		}
		if total[f.header]++; total[f.header] == 1 {
			order = append(order, f.header)
		}
		if f.how == "bound" {
			bound[f.header]++
		}
	}
	fmt.Fprintf(w, `# The functions of %s

Generated by `+"`make api`"+` from the archive, the headers, the sources of this package and `+"`%s`"+`; CI fails if it is out of date. A function is
bound if an object of the package calls it. The second column names the Go functions that call it, or that replace it, and the third
a test that calls the first of them (`+"`init`"+` runs when the package is loaded). `+"`make nightly LANES=api`"+` runs each test against a build that
counts the calls: the test calls the C function, and fails if the function returns an error or 0 instead of doing its work.

Of %d functions %d are bound, %d subsumed, %d left out`, lib.name, lib.rows, len(functions)-count["newer"], count["bound"], count["subsumed"], count["out"])
	if n := count[""]; n > 0 {
		fmt.Fprintf(w, ", %d not accounted for yet", n)
	}
	if n := count["newer"]; n > 0 {
		fmt.Fprintf(w, "; %d more of newer releases have a guard", n)
	}
	fmt.Fprint(w, ".\n")
	for _, header := range order {
		fmt.Fprintf(w, "\n## %s: %d of %d\n", header, bound[header], total[header])
		section(w, functions, header, "\n| function | bound by | test |\n|---|---|---|\n", "bound", func(f function) string {
			test := f.test
			if f.silent {
				test += ", which only calls it: " + f.text
			}
			return fmt.Sprintf("| %s | %s | %s |\n", f.name, some(f.by), test)
		})
		section(w, functions, header, "\n| not bound | instead, or why not | test |\n|---|---|---|\n", "subsumed out", func(f function) string {
			return fmt.Sprintf("| %s | %s | %s |\n", f.name, strings.TrimSpace(strings.Join(f.by, "")+" "+f.text), f.test)
		})
		var rest []string
		for _, f := range functions {
			if f.header == header && f.how == "" {
				rest = append(rest, f.name)
			}
		}
		if len(rest) > 0 {
			fmt.Fprintf(w, "\nNot accounted for: %s.\n", strings.Join(rest, ", "))
		}
	}
	section(w, functions, "", "\n## Newer than the linked library\n\n| function | since | bound by | test |\n|---|---|---|---|\n", "newer", func(f function) string {
		return fmt.Sprintf("| %s | %s | %s | %s |\n", f.name, f.text, some(f.by), f.test)
	})
}

// section writes a table of the functions of a header whose field how is one of hows, if there are
// any.
func section(w io.Writer, functions []function, header, head, hows string, line func(function) string) {
	for _, f := range functions {
		if f.how != "" && f.header == header && slices.Contains(strings.Fields(hows), f.how) {
			fmt.Fprint(w, head, line(f))
			head = ""
		}
	}
}

// some joins the first 6 names.
func some(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and more"
}
