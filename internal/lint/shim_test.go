package lint_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cFunction matches the name in the definition of a function that other C files can call.
var cFunction = regexp.MustCompile(`(?m)^(?:[a-z_0-9]+ \**)+((?:goh5|goblosc2)_\w+)\([^;{]*\)\n\{`)

// cName matches a name of a function of the shims.
var cName = regexp.MustCompile(`\b(?:goh5|goblosc2)_\w+`)

// callsOf returns for each C file of a package the other files with functions that it calls.
func callsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "shim*.c"))
	require.NoError(t, err)
	texts, files := map[string]string{}, map[string]string{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		texts[filepath.Base(path)] = string(b)
		for _, m := range cFunction.FindAllStringSubmatch(string(b), -1) {
			if !strings.HasPrefix(m[0], "static ") {
				files[m[1]] = filepath.Base(path)
			}
		}
	}
	require.Greater(t, len(files), 50, dir)
	calls := map[string][]string{}
	for file, text := range texts {
		for _, name := range cName.FindAllString(text, -1) {
			if to := files[name]; to != "" && to != file && !slices.Contains(calls[file], to) {
				calls[file] = append(calls[file], to)
			}
		}
	}
	return calls
}

// TestShims_circles: files of a shim that call each other in a circle can only be read together.
func TestShims_circles(t *testing.T) {
	for _, dir := range []string{"cblosc", "h5"} {
		calls := callsOf(t, dir)
		done := map[string]bool{}
		var visit func(path []string)
		visit = func(path []string) {
			file := path[len(path)-1]
			if done[file] {
				return
			}
			for _, to := range calls[file] {
				require.NotContains(t, path, to, "%s: %v calls a function of %s", dir, path, to)
				visit(append(slices.Clone(path), to))
			}
			done[file] = true
		}
		for _, file := range slices.Sorted(maps.Keys(calls)) {
			visit([]string{file})
		}
	}
}
