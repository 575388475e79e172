package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// pid returns the process id of the worker of a client.
func pid(t testing.TB, c *worker.RawClient) (n int) {
	t.Helper()
	got, err := ask(c, "pid")
	require.NoError(t, err)
	_, err = fmt.Sscan(got, &n)
	require.NoError(t, err)
	return n
}

// TestWorker_Spare checks when an idle worker is started: not after the first worker, but after
// each later one. An idle worker must have the same isolation and the same files as a new one, and
// no two clients may share one.
func TestWorker_Spare(t *testing.T) {
	t.Cleanup(worker.SpareIdle(time.Hour))
	dir := t.TempDir()
	name, other := filepath.Join(dir, "data"), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(name, []byte("handed over"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("secret"), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	first := client(t, nil)
	seen := map[int]bool{pid(t, first): true}
	require.Zero(t, worker.Spare(), "a program that opens one file")
	seen[pid(t, client(t, nil))] = true
	require.Len(t, seen, 2)
	for range 3 {
		spare := worker.Spare()
		require.NotZero(t, spare)
		require.NotContains(t, seen, spare)
		c := client(t, func(cfg *worker.Config) { cfg.Files = []*os.File{f} })
		require.Equal(t, spare, pid(t, c))
		require.Equal(t, first.Level(), c.Level())
		got, err := ask(c, "reopen")
		require.NoError(t, err)
		require.Equal(t, "handed over", got)
		if c.Level().Landlock > 0 {
			_, err = ask(c, "open "+other)
			require.ErrorIs(t, err, os.ErrPermission)
		}
		if c.Level().Seccomp {
			_, err = ask(c, "exec")
			require.ErrorContains(t, err, "not implemented")
		}
		seen[spare] = true
		next := worker.Spare()
		_, err = ask(c, "segv")
		require.ErrorIs(t, err, worker.ErrCrashed)
		require.Equal(t, next, pid(t, c), "the call after a crash has it, too")
		seen[next] = true
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 16 {
		c := client(t, nil)
		wg.Go(func() {
			got, err := ask(c, "pid")
			mu.Lock()
			defer mu.Unlock()
			var n int
			if _, scan := fmt.Sscan(got, &n); err != nil || scan != nil || seen[n] {
				t.Errorf("%q: %v, %v, seen before: %v", got, err, scan, seen[n])
			}
			seen[n] = true
		})
	}
	wg.Wait()
	left, err := worker.Left()
	require.NoError(t, err)
	require.EqualValues(t, 2+3+16, left, "of the clients that are open")
	require.Zero(t, worker.Spare())
}

// TestSpare_invalid checks that a dead idle worker, or one of another user, is not used, and that
// an unused one ends.
func TestSpare_invalid(t *testing.T) {
	t.Cleanup(worker.SpareIdle(time.Hour))
	pid(t, client(t, nil))
	pid(t, client(t, nil))
	for what, spoil := range map[string]func(pid int){
		"killed":  func(pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) },
		"strange": func(int) { worker.StrangeSpare() },
	} {
		spare := worker.Spare()
		require.NotZero(t, spare, what)
		spoil(spare)
		c := client(t, nil)
		require.NotEqual(t, spare, pid(t, c), what)
		require.Equal(t, 1, c.Starts(), what)
	}
	require.NotZero(t, worker.Spare())
	worker.ExpireSpare()
	require.Eventually(t, func() bool { return worker.Spare() == 0 }, time.Minute, time.Millisecond)
}

// TestProcessors checks that a worker gets the host's GOMAXPROCS when a client starts to use it,
// also if it was idle before.
func TestProcessors(t *testing.T) {
	t.Cleanup(worker.SpareIdle(time.Hour))
	set := func(n int) {
		runtime.GC() // see docs/known-issues.md, "Cleanups of Go 1.26"
		runtime.GOMAXPROCS(n)
	}
	was := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { set(was) })
	for _, n := range []int{3, 3, 3, 1, 2} {
		set(n)
		got, err := ask(client(t, nil), "processors")
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(n), got)
		worker.Spare() // wait for the next idle worker
	}
}

func TestTooManyFiles(t *testing.T) {
	_, err := worker.NewRawClient("test", worker.Config{Files: make([]*os.File, 253)})
	require.ErrorIs(t, err, worker.ErrProtocol)
	require.ErrorContains(t, err, "253 files, at most 252")
	files := make([]*os.File, 252)
	for i := range files {
		var err error
		files[i], err = os.Open(os.DevNull)
		require.NoError(t, err)
		defer files[i].Close()
	}
	got, err := ask(client(t, func(cfg *worker.Config) { cfg.Files = files }), "echo all")
	require.NoError(t, err)
	require.Equal(t, "all", got)
}
