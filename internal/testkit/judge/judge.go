// The Python process that reads files.

package judge

import (
	"bufio"
	_ "embed" // for the scripts
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

var (
	//go:embed judge.py
	judgeScript []byte
	//go:embed sources.py
	sourcesScript []byte
)

// seconds is the time limit for a file.
const seconds = 30

// Outcome is the result of a read.
type Outcome string

// Outcomes of the judge.
const (
	Reads   Outcome = "reads"   // all elements and attributes
	Fails   Outcome = "fails"   // the library returned an error
	Crashes Outcome = "crashes" // the library ended the process
	Slow    Outcome = "slow"    // the time limit was exceeded
	Large   Outcome = "large"   // the file has more elements than the judge reads
)

// Answer is the result of a read. Digest covers all names, elements and attributes.
type Answer struct {
	Outcome     Outcome
	Why, Digest string
}

func (a Answer) String() string {
	if a.Why == "" {
		return string(a.Outcome)
	}
	return string(a.Outcome) + ": " + a.Why
}

// Judge reads files with the reference libraries. Any number of goroutines may use it.
type Judge struct {
	mu  sync.Mutex // held by a request
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// New starts a judge, which ends with the test. It skips the test, or fails it, as testenv.Python,
// if a library is missing.
func New(t testing.TB) *Judge {
	t.Helper()
	script := filepath.Join(t.TempDir(), "judge.py")
	if err := os.WriteFile(script, judgeScript, 0o600); err != nil {
		t.Fatal(err)
	}
	j := &Judge{cmd: exec.Command(testenv.Python(t, "h5py", "blosc2", "hdf5plugin", "bcolz"), script)}
	j.cmd.Stderr = os.Stderr
	var err error
	if j.in, err = j.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	j.out = bufio.NewReader(out)
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(j.in.Close(), j.cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	return j
}

// Read reads everything in a file or a container at path. The name of a Blosc2 file must have the
// extension of its format, and the name of a directory of bcolz must end in .bcolz; other files are
// HDF5.
func (j *Judge) Read(path string) (a Answer, err error) {
	q, err := json.Marshal(map[string]any{"path": path, "seconds": seconds})
	if err != nil {
		return a, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.in.Write(append(q, '\n')); err != nil {
		return a, fmt.Errorf("judge %s: %w", path, err)
	}
	line, err := j.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		return a, fmt.Errorf("judge %s: %w", path, err)
	}
	return a, nil
}

// WriteSources writes the files to mutate to a directory "whole" in dir, and files of rare forms to
// a directory "forms".
func WriteSources(t testing.TB, dir string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "sources.py")
	if err := os.WriteFile(script, sourcesScript, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testenv.Python(t, "h5py", "blosc2", "hdf5plugin", "bcolz"), script, dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
