package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const build = "third_party/build"

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

func TestAccountOfTheRealLibraries(t *testing.T) {
	t.Chdir("../..")
	blosc, err := account(build, libraries[0])
	require.NoError(t, err)
	require.Equal(t, function{"b2nd_get_slice_cbuffer", "b2nd.h", true, []string{"Array.ReadRegion"}}, find(t, blosc, "b2nd_get_slice_cbuffer"))
	require.Equal(t, function{"b2nd_append", "b2nd.h", false, nil}, find(t, blosc, "b2nd_append"), "it loses data: see defects.go")
	require.Contains(t, find(t, blosc, "blosc2_get_version_string").by, "Version", "called without a shim between")

	hdf5, err := account(build, libraries[1])
	require.NoError(t, err)
	require.Contains(t, find(t, hdf5, "H5Dread").by, "Dataset.ReadRegion", "behind two helpers in C and one in Go")
	require.False(t, find(t, hdf5, "H5Pset_type_conv_cb").bound)
	for _, f := range append(blosc, hdf5...) {
		require.NotEmpty(t, f.header, f.name)
		require.Equal(t, f.bound, len(f.by) > 0, f.name)
	}
}

func TestCheckFindsAnOldFile(t *testing.T) {
	t.Chdir("../..")
	root, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, run(build, true), "run make api")

	// The same tree, but for an API.md that nobody generated again.
	old := t.TempDir()
	require.NoError(t, os.CopyFS(old+"/cblosc", os.DirFS("cblosc")))
	require.NoError(t, os.CopyFS(old+"/internal/cmem", os.DirFS("internal/cmem")))
	require.NoError(t, os.WriteFile(old+"/cblosc/API.md", []byte("# The functions of C-Blosc2\n"), 0o600))
	t.Chdir(old)
	require.ErrorContains(t, run(root+"/"+build, true), "cblosc/API.md is out of date: run make api")
}

func TestWriteNamesTheFirstFew(t *testing.T) {
	var out strings.Builder
	write(&out, library{name: "X"}, []function{
		{"x_a", "x.h", true, []string{"A", "B", "C", "D", "E", "F", "G", "H"}},
		{"x_b", "x.h", false, nil},
		{"y_c", "y.h", false, nil},
	})
	require.Contains(t, out.String(), "Bound: 1 of 3.\n")
	require.Contains(t, out.String(), "| x_a | A, B, C, D, E, F and 2 more |\n\nNot bound: x_b.\n")
	require.Contains(t, out.String(), "## y.h: 0 of 1\n\nNot bound: y_c.\n")
}
