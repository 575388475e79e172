// The rows files, one for each library, which list the functions that shims do not call.
//
//	# a comment
//	NAME subsumed Function why or how      another Go function has the same effect
//	NAME out why                           it is left out
//	NAME newer VERSION Function [Test]     the linked library lacks it; a shim calls it inside a version guard
//	NAME test Test                         one of the tests that reach its binding, which is known to call it
//	NAME silent Test why                   like test; no result of a test can depend on the function
//	missing N                              at most N functions may have no row yet
//
// NAME may end in * and then stands for a family. Function is an exported Go function of the
// package, as in API.md: Array.Resize. A Test must be named if the sources lead to another test.
// This happens for Go functions with several paths through the library.

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// row is one line of a rows file.
type row struct {
	name, kind string
	function   string // subsumed, newer
	test       string // test, silent, optionally newer
	version    string // newer
	text       string
	line       int
	used       bool
}

// rows is the content of one file.
type rows struct {
	file    string
	list    []*row
	missing int // maximum number of functions without a row
}

func readRows(file string) (*rows, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &rows{file: file}
	seen := make(map[string]bool)
	for i, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", file, i+1, fmt.Sprintf(format, args...))
		}
		w := &row{name: f[0], line: i + 1}
		if len(f) > 1 {
			w.kind = f[1]
		}
		switch {
		case f[0] == "missing" && len(f) == 2:
			if r.missing, err = strconv.Atoi(f[1]); err != nil || r.missing < 1 {
				return nil, bad("want a number of functions, at least 1: %q", f[1])
			}
			continue
		case w.kind == "out" && len(f) > 2:
			w.text = strings.Join(f[2:], " ")
		case w.kind == "subsumed" && len(f) > 2:
			w.function, w.text = f[2], strings.Join(f[3:], " ")
		case w.kind == "newer" && (len(f) == 4 || len(f) == 5) && !strings.Contains(f[0], "*"):
			w.version, w.function = f[2], f[3]
			w.test = strings.Join(f[4:], "")
		case w.kind == "test" && len(f) == 3:
			w.test = f[2]
		case w.kind == "silent" && len(f) > 3:
			w.test, w.text = f[2], strings.Join(f[3:], " ")
		default:
			return nil, bad("want NAME subsumed FUNCTION TEXT, NAME out REASON, NAME newer VERSION FUNCTION [TEST], NAME test TEST, NAME silent TEST REASON, or missing N: %q", line)
		}
		if seen[w.name] {
			return nil, bad("%s stands here twice", w.name)
		}
		seen[w.name] = true
		r.list = append(r.list, w)
	}
	return r, nil
}

// find returns the row of a function that shims do not call: the row with its name, or else that of
// the longest family that matches.
func (r *rows) find(name string) *row {
	return r.match(name, func(w *row) bool { return w.kind == "subsumed" || w.kind == "out" })
}

// tested is find for rows that name a test.
func (r *rows) tested(name string) *row {
	return r.match(name, func(w *row) bool { return w.test != "" })
}

func (r *rows) match(name string, wanted func(w *row) bool) *row {
	var best *row
	for _, w := range r.list {
		family, isFamily := strings.CutSuffix(w.name, "*")
		switch {
		case !wanted(w):
		case w.name == name:
			return w
		case isFamily && strings.HasPrefix(name, family) && (best == nil || len(w.name) > len(best.name)):
			best = w
		}
	}
	return best
}
