package cli_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

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
