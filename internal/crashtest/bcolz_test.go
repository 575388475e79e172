// What bcolz, Python's, reads of a tree.

package crashtest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/need"
)

// A peer is a process that opens each tree whose path it reads, and answers with the
// values of its columns; of a carray there is one. The rows of a table are read, not its
// columns one by one: those behind the first may be longer while rows are appended.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

const peerProgram = `
import json, sys, bcolz
for line in sys.stdin:
    try:
        a = bcolz.open(json.loads(line), mode="r")
        rows = a[:]
        columns = [rows[name].tolist() for name in a.names] if isinstance(a, bcolz.ctable) else [rows.tolist()]
        answer = {"columns": columns}
    except Exception as e:
        answer = {"error": repr(e)}
    print(json.dumps(answer), flush=True)
`

// bcolzPeer looks at the trees of the test that runs; nil without Python.
var bcolzPeer *peer

// startPeer starts the process for the time of a test. CI has it.
func startPeer(t *testing.T) {
	t.Helper()
	if os.Getenv("HYPERSLAB_PYTHON") == "" && os.Getenv("CI") == "" {
		t.Log("NOT TESTED: HYPERSLAB_PYTHON is not set (make peers): bcolz does not look at the trees")
		return
	}
	cmd := exec.Command(need.Python(t, "bcolz"), "-W", "ignore", "-c", peerProgram)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	bcolzPeer = &peer{cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		bcolzPeer = nil
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
}

// compare compares what bcolz reads of a tree with what we do: each column holds
// these values.
func (p *peer) compare(path string, want []int64) error {
	if p == nil {
		return nil
	}
	question, err := json.Marshal(path)
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
		return errors.New("bcolz: " + answer.Error)
	}
	if len(answer.Columns) == 0 {
		return errors.New("bcolz: no column")
	}
	for i, c := range answer.Columns {
		if fmt.Sprint(c) != fmt.Sprint(want) {
			return fmt.Errorf("bcolz reads column %d as %d values, %v; we %d, %v", i, len(c), c, len(want), want)
		}
	}
	return nil
}
