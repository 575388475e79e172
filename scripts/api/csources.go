// The C call graph: the C functions of the shims that lead to a function of the library. Matching
// names suffices, because the C code is one set of files with direct calls.

package main

import (
	"os"
	"path/filepath"
	"regexp"
)

var (
	comments    = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"`)
	definition  = regexp.MustCompile(`(?m)^[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{`)
	table       = regexp.MustCompile(`(?m)^[A-Za-z_][\w \t*]*?\b(\w+)(?:\[[^\]\n]*\])*\s*=\s*\{`)
	macro       = regexp.MustCompile(`(?m)^#define\s+(\w+)((?:[^\n\\]|\\\n|\\.)*)`)
	pasted      = regexp.MustCompile(`(\w+)##`)
	identifiers = regexp.MustCompile(`[A-Za-z_]\w*`)
)

func withoutComments(c string) string { return comments.ReplaceAllString(c, " ") }

// mentions maps the name of a function, a table or a macro to the names in its body.
type mentions map[string]map[string]bool

func (m mentions) add(name, body string) {
	if m[name] == nil {
		m[name] = make(map[string]bool)
	}
	for _, id := range identifiers.FindAllString(body, -1) {
		m[name][id] = true
	}
}

// cFunctions reads the shims of a package, and the macros of the library's headers, which may
// contain calls. For example, H5T_NATIVE_INT opens the library.
func cFunctions(libs, dir string) (mentions, error) {
	out := make(mentions)
	for _, pattern := range []string{dir + "/shim*.c", dir + "/shim*.h", libs + "/*.h"} {
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
				for _, p := range pasted.FindAllStringSubmatch(m[2], -1) {
					out.add(p[1], m[2]) // name_## stands for every name that the macro makes
				}
			}
			for _, body := range []*regexp.Regexp{definition, table} {
				for _, at := range body.FindAllStringSubmatchIndex(text, -1) {
					out.add(text[at[2]:at[3]], text[at[1]:bodyEnd(text, at[1])])
				}
			}
		}
	}
	return out, nil
}

// bodyEnd returns the end of the block that was opened before start.
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

// closure adds all names that a name leads to through m.
func (m mentions) closure(from string, reached map[string]bool) {
	for id := range m[from] {
		if !reached[id] {
			reached[id] = true
			m.closure(id, reached)
		}
	}
}

// mentioned reports whether a function of the shims mentions a name.
func (m mentions) mentioned(name string) bool {
	for _, names := range m {
		if names[name] {
			return true
		}
	}
	return false
}
