package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestDType checks --dtype of the commands with a Caterva array, which stores no element type, and
// that append extends such an array.
func TestDType(t *testing.T) {
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	source, array := at("a.b2nd"), at("a.caterva")
	create(t, source, ndarray.Spec{Shape: []int64{3, 4}, ChunkShape: []int64{2, 3}}, count(12))
	done(t, "convert", source, array, "--exclude-unsupported", "-q")
	require.Equal(t, done(t, "dump", source), done(t, "dump", array, "--dtype", "<i4"))
	require.Contains(t, done(t, "stats", array, "--dtype", "<i4", "--bins", "0"), "66")
	require.Contains(t, done(t, "info", array, "--dtype", "<i4"), "<i4")
	require.Contains(t, done(t, "info", array), "V4")
	done(t, "diff", source, array, "--dtype", "<i4", "--values-only")
	_, stderr, code := run("append", array, source, "-q")
	require.Equal(t, 2, code, stderr)
	require.Contains(t, stderr, "V4")
	done(t, "append", array, source, "-q", "--dtype", "<i4")
	lines := strings.Split(strings.TrimSpace(done(t, "dump", array, "--dtype", "<i4", "--csv", "--no-header")), "\n")
	require.Equal(t, []string{"0,1,2,3", "4,5,6,7", "8,9,10,11", "0,1,2,3", "4,5,6,7", "8,9,10,11"}, lines)
	column := at("column.b2nd")
	create(t, column, ndarray.Spec{Shape: []int64{6, 1}}, count(6))
	done(t, "append", array, column, "-q", "--dtype", "<i4", "--axis", "1", "--in-place")
	require.Contains(t, done(t, "dump", array+"[1:3]", "--dtype", "<i4", "--csv", "--no-header"), "4,5,6,7,1\n8,9,10,11,2\n")
	done(t, "verify", array, "-q")
	frame := at("a.frame")
	done(t, "convert", source, frame, "--format", "frame", "--exclude-unsupported", "-q")
	for _, from := range []string{array, frame} {
		to := at("c.h5")
		done(t, "cp", from, to+":/x", "--dtype", "<u4")
		require.Contains(t, done(t, "info", to+":/x"), "<u4")
		require.Contains(t, done(t, "bench", from, "--dtype", "<u4", "--codec", "lz4", "--level", "1", "--seconds", "0", "--json"), `"dtype": "<u4"`)
		plan, target := at("plan.json"), at("planned.b2nd")
		done(t, "plan", "convert", from, target, "-o", plan, "--dtype", "<u4")
		done(t, "work", plan, "--all", "-q")
		done(t, "commit", plan, "-q")
		require.Contains(t, done(t, "info", target), "<u4")
		require.Equal(t, done(t, "dump", to+":/x"), done(t, "dump", target))
		done(t, "plan", "stats", from, at("stats.json"), "-o", plan+"2", "--dtype", "<f4")
		done(t, "work", plan+"2", "--all", "-q")
		done(t, "commit", plan+"2", "-q")
		_, stderr, code := run("cp", from, at("copy"), "--dtype", "<u4")
		require.Equal(t, 2, code, stderr)
		require.Contains(t, stderr, "is copied as it is stored")
	}
	unused := at("unused.h5")
	for _, bad := range [][]string{{"cp", source, unused + ":/x", "--dtype", "<u4"}, {"bench", source, "--dtype", "<u4", "--seconds", "0"}, {"plan", "copy", source, at("p.b2nd"), "--dtype", "<u4"}, {"plan", "stats", source, at("p.json"), "--dtype", "<u4"}} {
		_, stderr, code := run(bad...)
		require.Equal(t, 2, code, "%v: %s", bad, stderr)
		require.Contains(t, stderr, "dtype", bad)
	}
	require.NoFileExists(t, unused)
	for _, bad := range [][]string{{"dump", source, "--dtype", "<i4"}, {"dump", array, "--dtype", "x"}, {"stats", array, "--dtype", "<i8"}} {
		_, stderr, code := run(bad...)
		require.Equal(t, 2, code, "%v: %s", bad, stderr)
	}
}
