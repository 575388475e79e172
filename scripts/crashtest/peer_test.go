// Process that reads the results with Python libraries: bcolz for directory trees, python-blosc2
// for frames and arrays, h5py for HDF5 files.

package crashtest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// A peer is a Python process. For each request it opens a path with the named library and returns
// the values of its columns. An array has one column; in an HDF5 file each dataset is a column.
// Tables are read by row, because during an append columns after the first may be longer.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

const peerProgram = `
import json, sys
import bcolz, blosc2, h5py, numpy

def number(x):
    # An element as integers: texts end with one.
    if isinstance(x, bytes):
        return [int(x.split()[-1])]
    return [int(v) for v in numpy.atleast_1d(x)]

def columns(library, path):
    if library == "bcolz":
        a = bcolz.open(path, mode="r")
        rows = a[:]
        return [rows[name].tolist() for name in a.names] if isinstance(a, bcolz.ctable) else [rows.tolist()]
    if library == "blosc2":
        a = blosc2.open(path, mode="r")
        if isinstance(a, blosc2.SChunk):
            return [numpy.frombuffer(a[:], "<i8").tolist()]
        return [numpy.ascontiguousarray(a[:]).view("<i8").tolist()]
    with h5py.File(path, "r") as f:
        return [[v for x in f[name][...].reshape(-1) for v in number(x)] for name in sorted(f)]

for line in sys.stdin:
    try:
        answer = {"columns": columns(*json.loads(line))}
    except Exception as e:
        answer = {"error": repr(e)}
    print(json.dumps(answer), flush=True)
`

// python is the process of the running test, or nil without Python.
var python *peer

// startPeer starts the process and stops it when the test ends. CI must have Python.
func startPeer(t *testing.T) {
	t.Helper()
	if os.Getenv("HYPERSLAB_PYTHON") == "" && os.Getenv("CI") == "" {
		t.Log("NOT TESTED: HYPERSLAB_PYTHON is not set (make peers): Python's libraries do not look at what is left")
		return
	}
	cmd := exec.Command(testenv.Python(t, "bcolz", "blosc2", "h5py", "numpy"), "-W", "ignore", "-c", peerProgram)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	python = &peer{cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		python = nil
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
}

// compare checks that a Python library reads the columns want from a path.
func (p *peer) compare(library, path string, want ...[]int64) error {
	if p == nil {
		return nil
	}
	question, err := json.Marshal([]string{library, path})
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(question, '\n')); err != nil {
		return err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	var answer struct {
		Columns [][]int64
		Error   string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("%w: %s", err, line)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", library, answer.Error)
	}
	if len(answer.Columns) != len(want) {
		return fmt.Errorf("%s reads %d columns, want %d", library, len(answer.Columns), len(want))
	}
	for i, c := range answer.Columns {
		if !slices.Equal(c, want[i]) {
			return fmt.Errorf("%s reads column %d as %d values, %v; we %d, %v", library, i, len(c), c, len(want[i]), want[i])
		}
	}
	return nil
}
