// What becomes of a read whose worker dies or hangs, and of programs that can have none.

package formats_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/worker"
)

// workers are the processes that this one has started and that have not ended.
func workers(t *testing.T) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread is gone
		}
		for _, word := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(word)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// A worker that a signal ends, as a fault or an abort of a library does, or that stops, is a
// typed error of the read that met it; the next read, on the same handle, has a fresh one.
func TestIsolatedDeath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.b2nd", "a.h5:/x"} {
		location := in(dir, name)
		save(t, location, int32s(500, 7))
		for _, tt := range []struct {
			signal syscall.Signal
			wall   time.Duration
			want   error
		}{
			{syscall.SIGSEGV, time.Hour, worker.ErrCrashed}, {syscall.SIGBUS, time.Hour, worker.ErrCrashed}, {syscall.SIGFPE, time.Hour, worker.ErrCrashed},
			{syscall.SIGABRT, time.Hour, worker.ErrCrashed}, {syscall.SIGKILL, time.Hour, worker.ErrCrashed},
			{syscall.SIGSTOP, time.Second, worker.ErrTimeout},
		} {
			what := name + ", " + tt.signal.String()
			_, err := worker.Left() // no spare: the one process is that of the array
			require.NoError(t, err)
			require.Empty(t, workers(t), what)
			// One that hangs is told by the time it takes, which any may on a machine that is busy
			// elsewhere: such a one is asked again.
			patient := func(f func() error) (err error) {
				for err = f(); errors.Is(err, worker.ErrTimeout); {
					err = f()
				}
				return err
			}
			var g *formats.Guarded
			require.NoError(t, patient(func() (err error) {
				g, err = formats.OpenUntrusted(bg, location, formats.Untrusted{Limits: formats.Limits{Wall: tt.wall}})
				return err
			}), what)
			require.True(t, g.Isolated())
			_, err = worker.Left()
			require.NoError(t, err)
			pids := workers(t)
			require.Len(t, pids, 1, what)
			require.NoError(t, syscall.Kill(pids[0], tt.signal))
			for now := ""; now != "Z" && now != "T"; { // dead or stopped: until the test's own limit
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[0]))
				require.NoError(t, err)
				_, rest, _ := strings.Cut(string(stat), ") ")
				now = rest[:1]
			}
			dst := make([]byte, g.NBytes())
			err = g.Read(bg, dst, ndarray.Whole(g.Shape()))
			require.ErrorIs(t, err, tt.want, what)
			var e *worker.Error
			require.ErrorAs(t, err, &e, what)
			require.NotContains(t, workers(t), pids[0], what)
			var got []int32
			require.NoError(t, patient(func() (err error) {
				got, err = ndarray.ReadAll[int32](bg, g.Array)
				return err
			}), what)
			require.Equal(t, count(g.NumElems()), got, what)
			require.NotContains(t, workers(t), pids[0], what)
			require.NoError(t, g.Close())
		}
	}
}

// A program that does not call worker.Init has no worker: who asks for one gets the error,
// and Auto works in the program itself.
func TestWithoutInit(t *testing.T) {
	if os.Getenv(withoutInit) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestWithoutInit$", "-test.v")
		cmd.Env = append(os.Environ(), withoutInit+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestWithoutInit")
		return
	}
	dir := t.TempDir()
	for _, name := range []string{"a.b2nd", "a.bcolz", "a.h5:/x"} {
		location := in(dir, name)
		save(t, location, int32s(500, 7))
		_, err := formats.OpenUntrusted(bg, location, formats.Untrusted{Isolation: formats.Required})
		require.ErrorIs(t, err, worker.ErrUnavailable)
		require.ErrorContains(t, err, "worker.Init")
		g, err := formats.OpenUntrusted(bg, location, formats.Untrusted{})
		require.NoError(t, err)
		require.False(t, g.Isolated())
		require.Zero(t, g.Level())
		got, err := ndarray.ReadAll[int32](bg, g.Array)
		require.NoError(t, err)
		require.Equal(t, count(g.NumElems()), got)
		require.NoError(t, g.Close())
	}
}
