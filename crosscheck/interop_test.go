package crosscheck_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/crosscheck"
	"github.com/hyperslab/hyperslab/internal/need"
)

// h5py, python-blosc2 and bcolz read every vector that they can express to the
// bytes of the manifest. Caterva has no library for a Python of today.
func TestPythonReadsTheVectors(t *testing.T) {
	interpreter := need.Python(t, "h5py", "hdf5plugin", "blosc2", "bcolz")
	dir, m := crosscheck.Corpus(t)
	cmd := exec.Command(interpreter, "testdata/reread.py", dir)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	require.NoError(t, err, talk.String())
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
	for area, least := range map[string]int{"chunk": 150, "blosc1": 50, "frame": 20, "b2nd": 60, "hdf5": 350, "bcolz": 80} {
		require.GreaterOrEqual(t, read[area], least, area)
	}
	t.Logf("%v", read)
}
