package crosscheck_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/crosscheck"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestInterop_python checks that h5py, python-blosc2 and bcolz read every vector whose elements
// they support to the bytes of the manifest.
func TestInterop_python(t *testing.T) {
	t.Parallel()
	reread(t, testenv.Python(t, "h5py", "hdf5plugin", "blosc2", "bcolz"), map[string]int{"chunk": 400, "blosc1": 50, "frame": 40, "b2nd": 90, "hdf5": 400, "bcolz": 80, "store": 100})
}

// TestInterop_caterva checks the same for python-caterva, the reference library of Caterva.
func TestInterop_caterva(t *testing.T) {
	t.Parallel()
	reread(t, testenv.Python(t, "caterva"), map[string]int{"caterva": 30})
}

// reread compares the vectors as Python reads them with the manifest. The keys of least are the
// areas, and the values are the minimum number of vectors in each.
func reread(t *testing.T, interpreter string, least map[string]int) {
	t.Helper()
	dir, m := crosscheck.Corpus(t)
	cmd := exec.Command(interpreter, append([]string{"testdata/reread.py", dir}, slices.Collect(maps.Keys(least))...)...)
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	require.NoError(t, err, diagnostics.String())
	cases := make(map[string]crosscheck.Case, len(m.Cases))
	for _, c := range m.Cases {
		cases[c.ID] = c
	}
	read := make(map[string]int)
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var x struct {
			Case, SHA256, Error string
			Bytes               int64
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &x))
		c := cases[x.Case]
		require.Empty(t, x.Error, x.Case)
		require.Equal(t, c.Decoded.Bytes, x.Bytes, x.Case)
		if c.Decoded.SHA256 != "" {
			require.Equal(t, c.Decoded.SHA256, x.SHA256, x.Case)
		}
		read[c.Area]++
	}
	require.NoError(t, lines.Err())
	for area, n := range least {
		require.GreaterOrEqual(t, read[area], n, area)
	}
	t.Logf("%v", read)
}
