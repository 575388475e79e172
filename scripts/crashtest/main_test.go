package crashtest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/scripts/crashtest"
)

// scenarioVariable is the environment variable that makes a process of this test binary run one
// scenario, in the directory of its first argument.
const scenarioVariable = "HYPERSLAB_CRASHTEST"

// oomVariable names the file that controls testdata/oom.c, and makes a process of this test binary
// run oomProcess, which Linux has.
const oomVariable = "HYPERSLAB_OOM"

var oomProcess func(control string) error

func TestMain(m *testing.M) {
	if name, ok := os.LookupEnv(scenarioVariable); ok {
		if err := scenarios[name].act(os.Args[1]); err != nil {
			fmt.Fprintf(os.Stderr, "%T: %v\n", err, err)
			if !typed(err) {
				os.Exit(4)
			}
			os.Exit(3)
		}
		os.Exit(0)
	}
	if path, ok := os.LookupEnv(oomVariable); ok {
		if err := oomProcess(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(5)
		}
		os.Exit(0)
	}
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

// typed reports whether an error has one of the documented error types.
func typed(err error) bool {
	return errors.As(err, new(*ndarray.Error)) || errors.As(err, new(*frameio.Error)) || errors.As(err, new(*h5.Error))
}

// run runs a scenario in dir with a judge.
func run(t *testing.T, name, dir string, judge crashtest.Judge) ([]crashtest.Event, *crashtest.Result, string) {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer said.Close()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, dir)
	cmd.Env = append(os.Environ(), scenarioVariable+"="+name, "GOMAXPROCS=2")
	cmd.Stderr = said
	events, r, err := crashtest.Run(cmd, dir, judge)
	if errors.Is(err, errors.ErrUnsupported) {
		testenv.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	b, err := os.ReadFile(said.Name())
	require.NoError(t, err)
	return events, r, string(b)
}

func pass(int, crashtest.Event) crashtest.Verdict { return crashtest.Verdict{} }
