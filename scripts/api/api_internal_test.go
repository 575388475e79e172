// Tests of the account of bound C functions. They need cgo, because only cgo type-checks the
// bindings with their C declarations.

//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/stretchr/testify/require"
)

const libs = "third_party/lib/" + runtime.GOOS + "_" + runtime.GOARCH

func find(t *testing.T, functions []function, name string) function {
	t.Helper()
	for _, f := range functions {
		if f.name == name {
			return f
		}
	}
	t.Fatalf("%s is not accounted for", name)
	return function{}
}

// sourcesOf returns the sources of cblosc or h5, which it collects only once. Tests that call it
// must run in the root of the module.
func sourcesOf(t *testing.T, lib int) *sources {
	t.Helper()
	s, err := gathered[lib]()
	require.NoError(t, err)
	return s
}

var gathered = [2]func() (*sources, error){
	sync.OnceValues(func() (*sources, error) { return gather(libs, libraries[0]) }),
	sync.OnceValues(func() (*sources, error) { return gather(libs, libraries[1]) }),
}

// accountOf returns the account of cblosc or h5 with the rows of the repository.
func accountOf(t *testing.T, lib int) []function {
	t.Helper()
	rows, err := readRows(libraries[lib].rows)
	require.NoError(t, err)
	functions, err := sourcesOf(t, lib).account(rows)
	require.NoError(t, err)
	return functions
}

func TestSources_account(t *testing.T) {
	t.Chdir("../..")
	blosc := accountOf(t, 0)
	read := find(t, blosc, "b2nd_get_slice_cbuffer")
	require.Equal(t, "bound", read.how)
	require.Equal(t, "b2nd.h", read.header)
	require.Contains(t, read.by, "Array.ReadRegion")
	require.NotEmpty(t, read.test)
	require.Contains(t, find(t, blosc, "blosc2_get_version_string").by, "Version", "called without a shim between")
	require.Contains(t, find(t, blosc, "blosc2_init").by, "init")

	for _, f := range blosc {
		require.NotEmpty(t, f.header+f.text, f.name)
	}
	if !testenv.All() {
		return // type-checking package h5 takes a minute of processor time, and make lint does it too
	}
	hdf5 := accountOf(t, 1)
	require.Contains(t, find(t, hdf5, "H5Dread").by, "Dataset.ReadRegion", "behind two helpers in C and one in Go")
	require.Contains(t, find(t, hdf5, "H5Awrite").by, "Group.WriteAttribute", "a method of a hidden type that Group embeds")
	require.Contains(t, find(t, hdf5, "H5Pget_driver_info").by, "OpenReaderAt", "by a table of functions")
	for _, f := range hdf5 {
		require.NotEmpty(t, f.header+f.text, f.name)
	}
}

// TestCalls_test checks that a test that reaches a function through helpers is found, and that the
// one named after the function is preferred.
func TestCalls_test(t *testing.T) {
	t.Chdir("../..")
	g := sourcesOf(t, 0).calls
	require.Equal(t, "TestCopySChunk", g.test("SChunk.Copy"))
	require.NotEmpty(t, g.test("SChunk.Close"), "called by a deferred function and a helper")
	require.Empty(t, g.test("SChunk.Missing"))
	require.Equal(t, "SChunk.Copy", g.reachedBy("TestCopySChunk", []string{"Batch.Append", "SChunk.Copy", "SChunk.Close"}))
	require.Empty(t, g.reachedBy("TestNonesuch", []string{"init", "SChunk.Copy"}))
	require.NotContains(t, g.tests, "TestMain")
}

func TestSources_update(t *testing.T) {
	t.Chdir("../..")
	s := sourcesOf(t, 0)
	require.NoError(t, s.update(s.rows, "cblosc/API.md", true), "run make api")

	dir := t.TempDir()
	file := filepath.Join(dir, "API.md")
	require.NoError(t, os.WriteFile(file, []byte("# The functions of C-Blosc2\n"), 0o600))
	require.ErrorContains(t, s.update(s.rows, file, true), "API.md is out of date: run make api")

	// These rows are invalid: one function is bound, and the others do not exist.
	rows, err := os.ReadFile(s.rows)
	require.NoError(t, err)
	rowsFile := filepath.Join(dir, "cblosc.rows")
	require.NoError(t, os.WriteFile(rowsFile, append(rows, "b2nd_serialize_meta out for no reason\nb2nd_nonesuch out for no reason\nb2nd_nonesuch2 newer 9.9 CreateArray\n"+
		"b2nd_free test TestVersions\nb2nd_nonesuch3 test TestVersions\n"...), 0o600))
	require.ErrorContains(t, s.update(rowsFile, file, false), "b2nd_serialize_meta is bound by")
	err = s.update(rowsFile, file, true)
	require.ErrorContains(t, err, "b2nd_nonesuch stands for no function that is not bound")
	require.ErrorContains(t, err, "b2nd_nonesuch2 is not newer than the linked library, or no shim mentions it")
	require.ErrorContains(t, err, "TestVersions reaches none of ")
	require.ErrorContains(t, err, "b2nd_nonesuch3 stands for no function that is bound")
}

func TestReadRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.rows")
	read := func(text string) (*rows, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return readRows(file)
	}
	r, err := read("# comment\n\nx_a out it is not needed\nx_* subsumed Type.Method by  a loop\nx_y* out family\nx_n newer 3.2 Func\nx_m newer 3.2 Func TestM\nz_* test TestZ\ny_s silent TestS it only frees memory\nmissing 7\n")
	require.NoError(t, err)
	require.Equal(t, 7, r.missing)
	require.Equal(t, "it is not needed", r.find("x_a").text)
	require.Equal(t, "Type.Method", r.find("x_b").function)
	require.Equal(t, "by a loop", r.find("x_b").text)
	require.Equal(t, "family", r.find("x_yes").text, "the longer family")
	require.Equal(t, "x_*", r.find("x_n").name, "a newer function is no other's row")
	require.Nil(t, r.find("z"))
	require.Nil(t, r.find("z_a"), "the row of a function that is bound")
	require.Equal(t, "TestZ", r.tested("z_a").test)
	require.Equal(t, "TestM", r.tested("x_m").test)
	require.Nil(t, r.tested("x_n"))
	require.Equal(t, "it only frees memory", r.tested("y_s").text)
	for _, text := range []string{"x", "x out", "x subsumed", "x maybe why", "x newer 3.2", "x* newer 3.2 F", "x newer 3.2 F T T", "x test", "x test T T", "x silent T", "missing", "missing 0", "missing many", "x out why\nx out why"} {
		_, err := read(text)
		require.Error(t, err, text)
	}
	_, err = read("a out b\nx maybe why")
	require.ErrorContains(t, err, "x.rows:2: ")
}

func TestWrite(t *testing.T) {
	var out strings.Builder
	write(&out, library{name: "X", rows: "x.rows"}, []function{
		{"x_a", "x.h", "bound", []string{"A", "B", "C", "D", "E", "F", "G", "H"}, "TestA", "", false},
		{"x_b", "x.h", "", nil, "", "", false},
		{"x_c", "x.h", "out", nil, "", "not for Go", false},
		{"x_d", "x.h", "subsumed", []string{"A"}, "TestA", "in one call", false},
		{"y_c", "y.h", "", nil, "", "", false},
		{"z", "", "newer", []string{"Z"}, "TestZ", "3.2", false},
	})
	for _, want := range []string{
		"Of 5 functions 1 are bound, 1 subsumed, 1 left out, 2 not accounted for yet; 1 more of newer releases have a guard.\n",
		"| x_a | A, B, C, D, E, F and more | TestA |\n\n| not bound | instead, or why not | test |\n|---|---|---|\n| x_c | not for Go |  |\n| x_d | A in one call | TestA |\n",
		"\nNot accounted for: x_b.\n\n## y.h: 0 of 1\n\nNot accounted for: y_c.\n",
		"| z | 3.2 | Z | TestZ |\n",
	} {
		require.Contains(t, out.String(), want)
	}
}

func TestVerdict(t *testing.T) {
	functions := []function{{name: "x_a", header: "x.h", how: "bound", by: []string{"A"}}, {name: "x_b", header: "x.h"}, {name: "x_c", header: "x.h", how: "out", text: "why"}, {name: "x_d", header: "x.h", how: "bound"}}
	err := verdict(library{dir: "x"}, functions, &rows{file: "x.rows", missing: 1}, true)
	require.ErrorContains(t, err, "3 functions without a row or a test, x.rows lets 1 pass")
	require.ErrorContains(t, err, "x_a: no test calls A")
	require.ErrorContains(t, err, "x_b: no row")
	require.ErrorContains(t, err, "x_d: called by a shim that no Go function leads to")
	require.NoError(t, verdict(library{dir: "x"}, functions, &rows{missing: 3}, true))
	require.NoError(t, verdict(library{dir: "x"}, functions, &rows{}, false))
}

func TestReplaceRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.rows")
	require.NoError(t, os.WriteFile(file, []byte("# comment\nx_a test TestOld\nx_b out why\nx_c test TestC\n"), 0o600))
	require.NoError(t, replaceRows(file, []string{"x_a test TestNew", "x_d test TestD"}))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "# comment\nx_b out why\nx_c test TestC\nx_a test TestNew\nx_d test TestD\n", string(b))
}

// TestProver builds an instrumented package and runs tests that call a function and that do not.
func TestProver(t *testing.T) {
	if !testenv.All() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return // it builds the tests of cblosc
	}
	t.Chdir("../..")
	functions := []function{
		{name: "b2nd_serialize_meta", how: "bound", test: "TestArrayMeta"},
		{name: "b2nd_concatenate", how: "bound", test: "TestArrayMeta"},
		{name: "blosc2_free_ctx", how: "bound", test: "TestSChunkModel"},
	}
	p, err := newProver(libraries[0], functions)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	defects, err := p.check(functions)
	require.NoError(t, err)
	require.Equal(t, []defect{
		{"b2nd_concatenate", "TestArrayMeta", "does not call it"},
		{"blosc2_free_ctx", "TestSChunkModel", "passes although the function has no effect"},
	}, defects)
	_, err = p.run("TestNonesuch", "", 0)
	require.ErrorContains(t, err, "no test binary contains TestNonesuch")
}
