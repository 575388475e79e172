package cli_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// nullTables runs testdata/nulls.py and returns its output.
func nullTables(t *testing.T, args ...string) []byte {
	t.Helper()
	python := testenv.Python(t, "blosc2")
	out, err := exec.Command(python, append([]string{filepath.Join("testdata", "nulls.py")}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return out
}

// dumped returns the values of dump --json.
func dumped(t *testing.T, args ...string) []any {
	t.Helper()
	var doc struct{ Values []any }
	require.NoError(t, json.Unmarshal([]byte(done(t, append([]string{"dump", "--json"}, args...)...)), &doc))
	return doc.Values
}

// TestRun_nulls compares tables with nulls of every storage with python-blosc2.
func TestRun_nulls(t *testing.T) {
	dir := t.TempDir()
	var want map[string][]any
	require.NoError(t, json.Unmarshal(nullTables(t, "write", dir), &want))
	require.Len(t, want, 4*17)
	for address, column := range want {
		t.Run(filepath.Base(address), func(t *testing.T) {
			elements := slices.Clone(column)
			if strings.HasSuffix(address, ":/nd") { // all elements of a null row are null
				for i, v := range elements {
					if v == nil {
						elements[i] = []any{nil, nil}
					}
				}
			}
			require.Equal(t, elements, dumped(t, address))
			require.Equal(t, elements[1:], dumped(t, address+"[1:]"))
			lines := strings.Split(strings.TrimSpace(done(t, "dump", "--csv", "--no-header", address)), "\n")
			require.Len(t, lines, 3)
			nullable := slices.Contains(column, nil)
			for i, line := range lines {
				require.Equal(t, column[i] == nil, line == `""` || line == ",", line)
			}
			text := done(t, "dump", address)
			require.Equal(t, nullable, strings.Contains(text, "null"), text)
			_, stderr, code := run("dump", "--npy", address)
			if nullable {
				require.Equal(t, 2, code)
				require.NotEmpty(t, stderr)
				npy := filepath.Join(t.TempDir(), "x.npy")
				_, stderr, code = run("convert", address, npy)
				require.Equal(t, 2, code)
				require.NoFileExists(t, npy)
				if strings.Contains(stderr, "nulls") {
					_, stderr, _ = run("convert", address, npy, "--exclude-unsupported")
					require.FileExists(t, npy)
					require.Contains(t, stderr, "not kept: nulls")
				}
			}
			require.Contains(t, done(t, "info", "--json", address), `"nullable": `)
		})
	}
}

func TestRun_nullsOfStats(t *testing.T) {
	dir := t.TempDir()
	nullTables(t, "write", dir)
	for _, storage := range []string{"mask", "sentinel"} {
		for column, value := range map[string]string{"i8": "4611686018427387904", "own": "3", "u1": "7", "f8": "-0"} {
			for _, flag := range []string{"--raw", "--untrusted"} {
				out := done(t, "stats", filepath.Join(dir, storage+".b2z:/"+column), flag)
				require.Regexp(t, `count +1\nNaN +2\nmin +`+value+`\nmax +`+value+"\n", out, column)
			}
		}
	}
	out, _, code := run("diff", filepath.Join(dir, "mask.b2d:/i8"), filepath.Join(dir, "sentinel.b2z:/i8"))
	require.Zero(t, code, out)
	out, _, code = run("diff", filepath.Join(dir, "mask.b2d:/vl"), filepath.Join(dir, "mask.b2d:/dic"), "-n", "3")
	require.Equal(t, 1, code)
	require.Contains(t, out, `"vv"`)
	require.NotContains(t, out, "null")
}

// TestRun_nullsOfTables converts whole tables.
func TestRun_nullsOfTables(t *testing.T) {
	dir := t.TempDir()
	nullTables(t, "write", dir)
	nullTables(t, "names", dir)
	for _, name := range []string{"sentinel.b2d", "mask.b2z", "names.b2d", "names.b2z"} {
		source := filepath.Join(dir, name)
		for _, target := range []string{"copy.b2z", "copy.b2d"} {
			at := filepath.Join(t.TempDir(), target)
			done(t, "convert", "-q", "--format", "ctable", source, at)
			require.Empty(t, string(nullTables(t, "check", source, at)), "%s to %s", name, target)
			require.Contains(t, done(t, "verify", at), "valid")
		}
	}
	target := filepath.Join(dir, "x.h5")
	_, stderr, code := run("convert", filepath.Join(dir, "sentinel.b2d"), target, "--dry-run")
	require.Zero(t, code, stderr)
	require.NoFileExists(t, target)
	require.Contains(t, stderr, "/i8: nulls (2 null elements)")
	_, again, code := run("convert", filepath.Join(dir, "sentinel.b2d"), target)
	require.Zero(t, code, again)
	require.Contains(t, again, "/dic: nulls (2 null elements)")
	for _, column := range []string{"i8", "dic", "vl", "u", "nd", "c"} {
		require.Equal(t, []any{true, false, false}, dumped(t, target+":/"+column+".notnull"), column)
	}
	require.NotContains(t, done(t, "ls", target), "req.notnull")
}

func TestArray_ReadNulls(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	nullTables(t, "write", dir)
	for _, untrusted := range []*hyperslab.Untrusted{nil, {InProcess: true}, {}} {
		for _, column := range []string{"i8", "vl", "dic"} {
			a, err := hyperslab.Open(ctx, filepath.Join(dir, "sentinel.b2z:/"+column), &hyperslab.OpenOptions{Untrusted: untrusted})
			require.NoError(t, err)
			require.True(t, a.Meta().Nullable)
			marks := []bool{true, true, true}
			require.NoError(t, a.ReadNulls(ctx, marks, ndarray.Whole(a.Shape())))
			require.Equal(t, []bool{false, true, true}, marks)
			n, err := ndarray.CountNulls(ctx, a)
			require.NoError(t, err)
			require.EqualValues(t, 2, n)
			require.ErrorIs(t, a.ReadNulls(ctx, marks[:2], ndarray.Whole(a.Shape())), ndarray.ErrSize)
			require.ErrorIs(t, a.ReadNulls(ctx, marks, ndarray.Region{Start: []int64{1}, Shape: []int64{3}}), ndarray.ErrRegion)
			reversed, err := ndarray.ParseSelection("::-1")
			require.NoError(t, err)
			view, err := ndarray.View(a, reversed)
			require.NoError(t, err)
			require.NoError(t, view.ReadNulls(ctx, marks, ndarray.Whole(view.Shape())))
			require.Equal(t, []bool{true, true, false}, marks)
			require.NoError(t, a.Close())
		}
	}
	a, err := hyperslab.Open(ctx, filepath.Join(dir, "mask.b2z:/req"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	require.False(t, a.Meta().Nullable)
	marks := []bool{true, true, true}
	require.NoError(t, a.ReadNulls(ctx, marks, ndarray.Whole(a.Shape())))
	require.Equal(t, []bool{false, false, false}, marks)
}
