// Tests of the forms of the fuzz targets for OSS-Fuzz.
package lint_test

import (
	"archive/zip"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// fuzzForms is the directory of the forms of OSS-Fuzz.
const fuzzForms = root + "/scripts/oss-fuzz"

// fuzzTargets returns the lines of targets.txt.
func fuzzTargets(t *testing.T) (list [][]string) {
	b, err := os.ReadFile(filepath.Join(fuzzForms, "targets.txt"))
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			require.GreaterOrEqual(t, len(words), 5, line)
			list = append(list, words)
		}
	}
	return list
}

// TestFuzz_targets compares the list of targets with the source code, and checks the dictionaries
// and seeds that it names.
func TestFuzz_targets(t *testing.T) {
	var want, got []string
	for _, f := range tree(t) {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.Test && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				want = append(want, f.Dir+" "+fn.Name.Name)
			}
		}
	}
	slices.Sort(want)
	entry := regexp.MustCompile(`^(\w+=)?"(?:[^"\\]|\\x[0-9a-f]{2}|\\["\\])+"$`)
	for _, words := range fuzzTargets(t) {
		got = append(got, words[0]+" "+words[1])
		if words[2] != "-" {
			b, err := os.ReadFile(filepath.Join(fuzzForms, words[2]+".dict"))
			require.NoError(t, err)
			for line := range strings.Lines(string(b)) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
					require.Regexp(t, entry, line, words[2])
				}
			}
		}
		if words[3] == "-" {
			continue
		}
		require.Regexp(t, `^([0-9a-f]{2})+$`, words[3], words[1])
		for _, pattern := range words[4:] {
			files, err := filepath.Glob(filepath.Join(root, pattern))
			require.NoError(t, err)
			require.NotEmpty(t, files, pattern)
		}
	}
	require.Equal(t, want, got)
	for _, one := range got {
		dir, name, _ := strings.Cut(one, " ")
		for _, other := range got {
			below, longer, _ := strings.Cut(other, " ")
			if one != other && (below == dir || strings.HasPrefix(below, dir+"/")) {
				require.False(t, strings.HasPrefix(longer, name), "OSS-Fuzz finds two targets for %s: also %s", one, other)
			}
		}
	}
}

// TestFuzz_build runs build.sh for one target, with the tool of OSS-Fuzz if it is installed, and
// otherwise with a command that compiles the target for Go's own engine.
func TestFuzz_build(t *testing.T) {
	testenv.Program(t, "zip")
	out := t.TempDir()
	repository, err := filepath.Abs(root)
	require.NoError(t, err)
	const name = "internal_format_chunk_FuzzChunk"
	compile := filepath.Join(t.TempDir(), "compile")
	require.NoError(t, os.WriteFile(compile, []byte("#!/bin/sh\nset -e\ngo list -test -f '{{.ImportPath}}' \"$1\" >/dev/null\n"+
		"go test -c -o \"$OUT/$3\" \"$1\"\n\"$OUT/$3\" -test.list \"^$2\\$\" | grep -qx \"$2\"\n"), 0o755))
	if tool, err := exec.LookPath("compile_native_go_fuzzer_v2"); err == nil {
		compile = tool
	} else {
		t.Log("NOT TESTED: compile_native_go_fuzzer_v2 of OSS-Fuzz is not installed; Go's engine builds the target")
	}
	cmd := exec.Command(filepath.Join(fuzzForms, "build.sh"))
	cmd.Env = append(os.Environ(), "ROOT="+repository, "OUT="+out, "SRC="+out, "DEPS=0", "TARGETS=^"+name+"$", "COMPILE="+compile)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.FileExists(t, filepath.Join(out, name))
	require.FileExists(t, filepath.Join(out, name+".dict"))
	seeds, err := zip.OpenReader(filepath.Join(out, name+"_seed_corpus.zip"))
	require.NoError(t, err)
	defer seeds.Close()
	files, err := filepath.Glob(filepath.Join(root, "internal/format/testdata/chunk/*.bin"))
	require.NoError(t, err)
	require.Len(t, seeds.File, len(files))
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}
