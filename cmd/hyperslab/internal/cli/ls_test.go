package cli_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestLs_dimensionNames checks that ls reports dimension names: always in JSON, and in text with
// -l.
func TestLs_dimensionNames(t *testing.T) {
	for _, file := range []string{"x.h5:/x", "x.b2nd"} {
		t.Run(file, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), file)
			create(t, name, ndarray.Spec{Shape: []int64{2, 1, 2}, AxisNames: []string{"time", "", "lon"}}, []int32{1, 2, 3, 4})
			stdout, stderr, code := run("ls", "--json", name)
			require.Zero(t, code, stderr)
			var doc struct {
				Entries []struct {
					Names []string `json:"dimension_names"`
				}
			}
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
			require.Len(t, doc.Entries, 1)
			require.Equal(t, []string{"time", "", "lon"}, doc.Entries[0].Names)

			stdout, stderr, code = run("ls", "-l", name)
			require.Zero(t, code, stderr)
			require.Regexp(t, `DIMENSIONS`, stdout)
			require.Regexp(t, `time, -, lon`, stdout)
		})
	}
}

// TestLs_noSizes checks that the listing without sizes differs only in the sizes.
func TestLs_noSizes(t *testing.T) {
	file := t.TempDir() + "/x.h5"
	_, stderr, code := run("convert", "../../../../testdata/etopo120.h5:/ROSE", file+":/rose")
	require.Zero(t, code, stderr)
	f, err := h5.Open(file, h5.ReadWrite)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("null", h5.Uint(1, h5.LittleEndian), h5.NullSpace(), nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	for _, long := range []string{"", "-l"} {
		args := slices.DeleteFunc([]string{"ls", file, long}, func(s string) bool { return s == "" })
		all, _, code := run(args...)
		require.Zero(t, code)
		some, _, code := run(append(args, "--no-sizes")...)
		require.Zero(t, code)
		require.Contains(t, all, "STORED")
		require.NotContains(t, some, "STORED")
		require.NotContains(t, some, "RATIO")
		require.Contains(t, some, "null")
		for line := range strings.Lines(some) {
			for _, word := range strings.Fields(line) {
				require.Contains(t, all, word)
			}
		}
	}
	out, _, code := run("ls", file, "--no-sizes", "--json")
	require.Zero(t, code)
	require.Contains(t, out, `"stored_bytes": null`)
	require.Contains(t, out, `"ratio": null`)
	require.NotRegexp(t, `"stored_bytes": -?[0-9]`, out)
}
