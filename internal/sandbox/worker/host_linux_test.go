// Tests of programs that use workers: the effects of their signals, their waiting for children and
// their end on workers, and the effects of workers on them. Each program is this test binary in a
// separate process.

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// asHost is the environment variable that makes this binary run one of hosts.
const asHost = "WORKER_TEST_HOST"

var hosts = map[string]func() error{
	"within a call":        withinCall,
	"with an attacker":     withAttacker,
	"without Init":         withoutInit,
	"at a terminal":        atTerminal,
	"in a control group":   grouped,
	"SIGCHLD is ignored":   func() error { signal.Ignore(unix.SIGCHLD); return deaths() },
	"SIGCHLD is heard":     hearing,
	"under a strict limit": strict,
	"waits for any":        waitsForAny,
	"holds timers":         holdTimers,
}

// heldTimers is the number of timers that holdTimers holds. Each takes a place of a queued signal.
const heldTimers = 200

// holdTimers holds timers until standard input ends.
func holdTimers() error {
	for range heldTimers {
		var id int32
		if _, _, err := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&id))); err != 0 {
			return err
		}
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// program returns a command that runs this binary as one of hosts, in its own process group.
func program(t *testing.T, how string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asHost+"="+how)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func hostClient() (*worker.RawClient, error) { return worker.NewRawClient("test", worker.Config{}) }

// withinCall keeps a worker in a call that does not end.
func withinCall() error {
	c, err := hostClient()
	if err != nil {
		return err
	}
	pid, err := ask(c, "pid")
	if err != nil {
		return err
	}
	fmt.Println(pid)
	return c.Call(context.Background(), []byte("hang"), nil)
}

// TestHost_end checks that a worker ends when its host is killed, also during a call.
func TestHost_end(t *testing.T) {
	cmd := program(t, "within a call")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pid int
	_, err = fmt.Fscanln(out, &pid)
	require.NoError(t, err)
	require.True(t, alive(pid))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	for alive(pid) { // until the time limit of the test
		time.Sleep(time.Millisecond)
	}
}

// withoutInit does not call Init.
func withoutInit() error {
	if _, err := hostClient(); !errors.Is(err, worker.ErrUnavailable) {
		return fmt.Errorf("not ErrUnavailable: %w", err)
	}
	return nil
}

// atTerminal receives the signals that a terminal sends to its process group, and continues.
func atTerminal() error {
	signals := []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGTERM}
	heard := make(chan os.Signal, len(signals))
	signal.Notify(heard, signals...)
	c, err := hostClient()
	if err != nil {
		return err
	}
	if _, err := ask(c, "echo"); err != nil {
		return err
	}
	for _, s := range signals {
		if err := unix.Kill(0, s.(unix.Signal)); err != nil {
			return err
		}
		<-heard
	}
	for range 100 {
		if _, err := ask(c, "echo"); err != nil {
			return err
		}
	}
	if n := c.Starts(); n != 1 {
		return fmt.Errorf("%d workers, want 1", n)
	}
	return nothingLeft(c)
}

// hearing has a handler for SIGCHLD. It receives the signals of workers, which do not depend on it.
func hearing() error {
	heard := make(chan os.Signal, 64)
	signal.Notify(heard, unix.SIGCHLD)
	err := deaths()
	if err == nil {
		<-heard
	}
	return err
}

// waitsForAny reaps all children, including workers, as the first process of a container does.
func waitsForAny() error {
	c, err := hostClient()
	if err != nil {
		return err
	}
	// The next operation is a call, or only Close.
	for _, next := range []error{worker.ErrCrashed, nil} {
		said, err := ask(c, "pid")
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(said)
		if err != nil {
			return err
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			return err
		}
		if got, err := unix.Wait4(-1, nil, 0, nil); got != pid || err != nil {
			return fmt.Errorf("child %d ended, want %d: %w", got, pid, err)
		}
		if next != nil {
			if _, err := ask(c, "echo"); !errors.Is(err, next) {
				return fmt.Errorf("not %v: %w", next, err)
			}
		}
	}
	return nothingLeft(c)
}

// deaths lets workers crash in a program that may not get their exit status.
func deaths() error {
	c, err := hostClient()
	if err != nil {
		return err
	}
	for range 3 {
		for _, how := range []string{"segv", "abort", "exit"} {
			if got, err := ask(c, "echo "+how); err != nil || got != how {
				return fmt.Errorf("before %s: %q, %w", how, got, err)
			}
			if _, err := ask(c, how); !errors.Is(err, worker.ErrCrashed) {
				return fmt.Errorf("%s: not ErrCrashed: %w", how, err)
			}
		}
	}
	if n := c.Starts(); n != 9 {
		return fmt.Errorf("%d workers, want 9", n)
	}
	return nothingLeft(c)
}

// nothingLeft closes the client and returns an error if a worker process remains.
func nothingLeft(c *worker.RawClient) error {
	if err := c.Close(); err != nil {
		return err
	}
	if n, err := worker.Left(); n != 0 || err != nil {
		return fmt.Errorf("%d workers left, %w", n, err)
	}
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		return fmt.Errorf("child %d, %w", pid, err)
	}
	return nil
}

// TestPrograms checks that workers do not change the signal handling of a program or its waiting
// for children, and that they work with both.
func TestPrograms(t *testing.T) {
	for _, how := range []string{"without Init", "at a terminal", "SIGCHLD is ignored", "SIGCHLD is heard", "waits for any"} {
		t.Run(how, func(t *testing.T) {
			out, err := program(t, how).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// strictLimit is the environment variable with the limit of the program "under a strict limit": its
// number and its value.
const strictLimit = "WORKER_TEST_LIMIT"

// strict starts a worker under a hard limit, as ulimit sets it.
func strict() error {
	var what int
	var most uint64
	if _, err := fmt.Sscan(os.Getenv(strictLimit), &what, &most); err != nil {
		return err
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(what, &now); err != nil {
		return err
	}
	most = min(most, now.Max)
	if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		return err
	}
	c, err := worker.NewRawClient("test", worker.Config{Require: worker.Full})
	if err != nil {
		return err
	}
	got, err := ask(c, "echo held")
	if err != nil {
		return err
	}
	fmt.Println(got, c.Level().Full())
	return nothingLeft(c)
}

// TestHost_environment checks that hard limits that are stricter than those of the Config stay in
// force and do not weaken the isolation: a worker either starts with full isolation or does not
// start.
func TestHost_environment(t *testing.T) {
	for _, tc := range []struct {
		name  string
		limit int
		value uint64
		fails string // text of the error; "" if the worker starts
	}{
		{"descriptors", unix.RLIMIT_NOFILE, 50, ""},
		{"address space", unix.RLIMIT_AS, 3300000 << 10, ""},
		{"processor time", unix.RLIMIT_CPU, 1000, ""},
		{"core file", unix.RLIMIT_CORE, 0, ""},
		{"processes", unix.RLIMIT_NPROC, 100000, ""},
		{"file size", unix.RLIMIT_FSIZE, 100 << 20, ""},
		{"file size, no window", unix.RLIMIT_FSIZE, 1 << 20, "limit of file sizes (ulimit -f)"},
		{"descriptors, no socket", unix.RLIMIT_NOFILE, 4, "isolation unavailable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.limit == unix.RLIMIT_AS {
				testenv.NoRace(t, "it reserves more address space")
			}
			cmd := program(t, "under a strict limit")
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d %d", strictLimit, tc.limit, tc.value))
			out, err := cmd.CombinedOutput()
			if tc.fails != "" {
				require.Error(t, err)
				require.Contains(t, string(out), tc.fails)
				return
			}
			require.NoError(t, err, "%s", out)
			require.Equal(t, "held true\n", string(out))
		})
	}
}
