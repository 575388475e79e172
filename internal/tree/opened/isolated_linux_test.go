// Tests of reads whose worker crashes or hangs, and of programs that cannot start workers.

package opened_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// workers returns the ids of the child processes that have not ended.
func workers(t *testing.T) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(word)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestIsolated_crash checks that a read returns a typed error if its worker is ended or stopped by
// a signal, because a fault or an abort of a library ends it the same way. The next read with the
// same handle must start a new worker.
func TestIsolated_crash(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.b2nd", "a.h5:/x"} {
		location := filetest.In(dir, name)
		filetest.Save(t, location, filetest.Int32s(500, 7), nil)
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
			_, err := worker.Left() // end idle workers, so that the only process is that of the array
			require.NoError(t, err)
			require.Empty(t, workers(t), what)
			// A hanging worker is detected by its time limit. On a busy machine any worker can
			// reach that limit, so the call is repeated.
			patient := func(f func() error) (err error) {
				for err = f(); errors.Is(err, worker.ErrTimeout); {
					err = f()
				}
				return err
			}
			var g *ndarray.Array
			require.NoError(t, patient(func() (err error) {
				g, err = hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{Wall: tt.wall}})
				return err
			}), what)
			filetest.RequireSandbox(t, g)
			_, err = worker.Left()
			require.NoError(t, err)
			pids := workers(t)
			require.Len(t, pids, 1, what)
			require.NoError(t, syscall.Kill(pids[0], tt.signal))
			for now := ""; now != "Z" && now != "T"; { // poll until the worker is dead or stopped; the timeout of the test is the limit
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
				got, err = ndarray.ReadAll[int32](bg, g)
				return err
			}), what)
			require.Equal(t, filetest.Count(g.NumElems()), got, what)
			require.NotContains(t, workers(t), pids[0], what)
			require.NoError(t, g.Close())
		}
	}
}

// descriptors returns the paths of the descriptors that a process has open.
func descriptors(t *testing.T, pid int) (paths []string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range list {
		if path, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestWorkerDescriptors checks that a worker has open only its sockets, its pipes and the file that
// it reads, and that an idle worker has no file open. Otherwise a file that the host has closed
// could not be opened for writing.
func TestWorkerDescriptors(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"host.h5:/x", "host.b2nd", "host.bcolz", "a.h5:/x", "a.b2nd"} {
		filetest.Save(t, filetest.In(dir, name), filetest.Int32s(500, 7), nil)
	}
	_, err := worker.Left()
	require.NoError(t, err)
	require.Empty(t, workers(t))
	writing := func() *ndarray.Array {
		a, err := hyperslab.Open(bg, filetest.In(dir, "host.h5:/x"), &hyperslab.OpenOptions{Write: true})
		require.NoError(t, err)
		return a
	}
	a := writing()
	b, err := hyperslab.Open(bg, filetest.In(dir, "host.b2nd"), &hyperslab.OpenOptions{Write: true})
	require.NoError(t, err)
	c, err := hyperslab.Open(bg, filetest.In(dir, "host.bcolz"), nil)
	require.NoError(t, err)
	// Open the file like a C library, so that a child process inherits the descriptor.
	plain, err := syscall.Open(filetest.In(dir, "a.b2nd"), syscall.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(plain, syscall.LOCK_SH|syscall.LOCK_NB))
	var inherited []string
	for fd := range 100 {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			inherited = append(inherited, path)
		}
	}
	require.Contains(t, inherited, filetest.In(dir, "host.b2nd"))
	require.NotContains(t, inherited, filetest.In(dir, "host.h5"), "other programs do not inherit HDF5 files")

	names := []string{"a.h5", "a.b2nd", "a.h5"}
	held := func(pid int) (files []string) {
		for _, path := range descriptors(t, pid) {
			if path != os.DevNull && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/sys/fs/cgroup/") { // Go's runtime reads its quota
				files = append(files, path)
			}
		}
		return files
	}
	for i, name := range names {
		before := workers(t)
		g, err := hyperslab.Open(bg, filetest.In(dir, map[bool]string{true: name + ":/x", false: name}[strings.HasSuffix(name, ".h5")]), &hyperslab.OpenOptions{Untrusted: new(hyperslab.Untrusted)})
		require.NoError(t, err)
		defer func() { require.NoError(t, g.Close()) }()
		readers := 0
		for _, pid := range workers(t) {
			if slices.Contains(before, pid) && i > 0 {
				continue
			}
			require.Eventually(t, func() bool { // an idle worker closes descriptors when it starts
				files := held(pid)
				return !slices.ContainsFunc(files, func(f string) bool { return f != filetest.In(dir, name) })
			}, time.Minute, time.Millisecond, "%v", held(pid))
			if len(held(pid)) > 0 {
				readers++
			}
			require.LessOrEqual(t, len(descriptors(t, pid)), 12)
		}
		if i == 0 {
			require.Equal(t, 1, readers)
		}
	}
	require.Eventually(t, func() bool { return len(workers(t)) > len(names) }, time.Minute, time.Millisecond, "an idle worker starts in the background")

	require.NoError(t, a.Close())
	a = writing()
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	require.NoError(t, c.Close())
	require.NoError(t, syscall.Close(plain))
	again, err := os.OpenFile(filetest.In(dir, "host.b2nd"), os.O_RDWR, 0)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the idle worker closes the lock that it inherited when it starts
		return syscall.Flock(int(again.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, again.Close())
}

// TestUntrusted_MissingInit checks that a program that does not call worker.Init can open untrusted
// files only with InProcess.
func TestUntrusted_MissingInit(t *testing.T) {
	if os.Getenv(withoutInit) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestUntrusted_MissingInit$", "-test.v")
		cmd.Env = append(os.Environ(), withoutInit+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestUntrusted_MissingInit")
		return
	}
	dir := t.TempDir()
	for _, name := range []string{"a.b2nd", "a.bcolz", "a.h5:/x"} {
		location := filetest.In(dir, name)
		filetest.Save(t, location, filetest.Int32s(500, 7), nil)
		for _, full := range []bool{false, true} {
			_, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{FullIsolation: full}})
			require.ErrorIs(t, err, worker.ErrUnavailable)
			require.ErrorContains(t, err, "hyperslab.Init")
			for _, err := range hyperslab.Walk(bg, location, &hyperslab.WalkOptions{Untrusted: &hyperslab.Untrusted{FullIsolation: full}}) {
				require.ErrorIs(t, err, worker.ErrUnavailable)
			}
		}
		g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}})
		require.NoError(t, err)
		s, err := g.Storage(bg)
		require.NoError(t, err)
		require.Empty(t, s.Isolation)
		got, err := ndarray.ReadAll[int32](bg, g)
		require.NoError(t, err)
		require.Equal(t, filetest.Count(g.NumElems()), got)
		require.NoError(t, g.Close())
	}
}
