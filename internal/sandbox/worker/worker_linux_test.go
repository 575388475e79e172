package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func client(t testing.TB, change func(*worker.Config)) *worker.RawClient {
	// Only tests of time limits set a time limit, because any operation can be slow on a busy
	// machine.
	cfg := worker.Config{Limits: worker.Limits{CPU: time.Hour, Wall: time.Hour, Window: 1 << 20}}
	if change != nil {
		change(&cfg)
	}
	c, err := worker.NewRawClient("test", cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// ask makes one call and copies the answer.
func ask(c *worker.RawClient, request string) (string, error) {
	var got string
	err := c.Call(context.Background(), []byte(request), func(answer, _ []byte) error {
		got = string(answer)
		return nil
	})
	return got, err
}

func TestWorker_CallWindow(t *testing.T) {
	c := client(t, nil)
	for _, s := range []string{"", "a", strings.Repeat("long ", 100_000)} {
		got, err := ask(c, "echo "+s)
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	require.NoError(t, c.Call(t.Context(), []byte("fill Q"), func(answer, window []byte) error {
		require.EqualValues(t, 1<<20, binary.LittleEndian.Uint64(answer))
		require.Equal(t, bytes.Repeat([]byte("Q"), 1<<20), window)
		return nil
	}))
	require.Equal(t, 1, c.Starts())
	require.True(t, c.Level().Rlimits)
	t.Log("held by ", c.Level())
}

func TestClient_errors(t *testing.T) {
	c := client(t, nil)
	_, err := ask(c, "error chunk 7")
	require.ErrorIs(t, err, errOdd)
	require.EqualError(t, err, "an odd request: chunk 7")
	var remote *worker.RemoteError
	require.ErrorAs(t, err, &remote)
	_, err = ask(c, "open /does/not/exist/here")
	require.Error(t, err)
	_, err = ask(c, "panic of a parser")
	require.ErrorIs(t, err, worker.ErrPanic)
	require.ErrorContains(t, err, "of a parser")
	require.Equal(t, 1, c.Starts(), "an error and a panic of Go code leave the worker alive")
}

func TestClient_crash(t *testing.T) {
	for _, tc := range []struct {
		request string
		want    error
		detail  string
	}{
		{"segv", worker.ErrCrashed, ""},
		{"abort", worker.ErrCrashed, ""},
		{"exit", worker.ErrCrashed, "exit status 7"},
	} {
		t.Run(tc.request, func(t *testing.T) {
			c := client(t, nil)
			_, err := ask(c, tc.request)
			require.ErrorIs(t, err, tc.want)
			var e *worker.Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Detail, tc.detail)
			t.Log(err)
			got, err := ask(c, "echo again")
			require.NoError(t, err)
			require.Equal(t, "again", got)
			require.Equal(t, 2, c.Starts())
		})
	}
}

// TestLimits checks that each exceeded limit is an error of its type, and that the next call uses a
// new worker.
func TestLimits(t *testing.T) {
	fresh := func(t *testing.T, c *worker.RawClient) {
		t.Helper()
		starts := c.Starts()
		got, err := ask(c, "echo on")
		require.NoError(t, err)
		require.Equal(t, "on", got)
		require.Equal(t, starts+1, c.Starts())
	}
	t.Run("wall time", func(t *testing.T) {
		c := client(t, func(cfg *worker.Config) { cfg.Limits.Wall = 500 * time.Millisecond })
		_, err := ask(c, "hang")
		require.ErrorIs(t, err, worker.ErrTimeout)
		starts := c.Starts()
		got, err := ask(c, "echo on")
		for errors.Is(err, worker.ErrTimeout) { // the machine may be busy
			got, err = ask(c, "echo on")
		}
		require.NoError(t, err)
		require.Equal(t, "on", got)
		require.Greater(t, c.Starts(), starts)
	})
	t.Run("processor time", func(t *testing.T) {
		c := client(t, func(cfg *worker.Config) { cfg.Limits.CPU = time.Second })
		_, err := ask(c, "spin")
		require.ErrorIs(t, err, worker.ErrLimit)
		require.ErrorContains(t, err, "processor time")
		fresh(t, c)
	})
	t.Run("memory of Go", func(t *testing.T) {
		c := client(t, func(cfg *worker.Config) { cfg.Limits.Memory = 256 << 20 })
		_, err := ask(c, "gomem")
		require.ErrorIs(t, err, worker.ErrLimit)
		require.ErrorContains(t, err, "memory")
		fresh(t, c)
	})
	t.Run("threads that allocate C memory", func(t *testing.T) { // glibc's arenas must not use up the address space
		testenv.NoRace(t, "its shadow of 128 MiB for C memory does not fit the limit")
		c := client(t, func(cfg *worker.Config) { cfg.Limits.Memory = 256 << 20 })
		got, err := ask(c, "threads")
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(64<<20), got)
	})
	t.Run("memory of C", func(t *testing.T) {
		c := client(t, func(cfg *worker.Config) { cfg.Limits.Memory = 256 << 20 })
		got, err := ask(c, "cmem")
		if err != nil { // a thread of the Go runtime reached the limit before the C code
			require.ErrorIs(t, err, worker.ErrLimit)
			fresh(t, c)
			return
		}
		require.NotEqual(t, "65536 MiB", got)
	})
	t.Run("cancellation", func(t *testing.T) {
		c := client(t, nil)
		_, err := ask(c, "echo") // starts the worker
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		require.ErrorIs(t, c.Call(ctx, []byte("hang"), nil), context.Canceled)
		require.ErrorIs(t, c.Call(ctx, []byte("echo"), nil), context.Canceled)
		fresh(t, c)
	})
}

// limitsOf returns the limits that the kernel has for a worker: address space, processor time,
// file size, descriptors, core file, queued signals, threads of the user.
func limitsOf(t *testing.T, change func(*worker.Config)) (l [7]uint64) {
	got, err := ask(client(t, change), "limits")
	require.NoError(t, err)
	_, err = fmt.Sscan(got, &l[0], &l[1], &l[2], &l[3], &l[4], &l[5], &l[6])
	require.NoError(t, err, got)
	return l
}

func TestConfig_Limits(t *testing.T) {
	few := func(cfg *worker.Config) { cfg.Limits.Memory, cfg.Limits.Files = 1<<30, 5 }
	l := limitsOf(t, few)
	more := limitsOf(t, func(cfg *worker.Config) { few(cfg); cfg.Limits.Memory = 1 << 50 })
	require.Greater(t, l[0], uint64(1<<30), "with what the runtime reserves")
	require.Greater(t, more[0], uint64(1<<50))
	require.Greater(t, more[0], l[0])
	require.Zero(t, l[2])
	require.Greater(t, l[3], uint64(5))
	require.Less(t, l[3], uint64(5+20), "with those it is given")
	require.Zero(t, l[4])
	require.Zero(t, l[5])
	require.Less(t, l[6], uint64(1<<22), "no more than the system can have")
	capacity := t.TempDir()
	l = limitsOf(t, func(cfg *worker.Config) { cfg.Write, cfg.Limits.File = capacity, 12345 })
	require.EqualValues(t, 12345, l[2])
	require.Zero(t, l[4])
}

func TestLevel(t *testing.T) {
	for want, l := range map[string]worker.Level{
		"process only": {}, "rlimits": {Rlimits: true}, "rlimits, seccomp": {Rlimits: true, Seccomp: true},
		"rlimits, landlock (ABI 3)": {Rlimits: true, Landlock: 3},
	} {
		require.Equal(t, want, l.String())
		require.False(t, l.Full(), want)
	}
	full := worker.Level{Landlock: 1, Seccomp: true, Rlimits: true}
	require.True(t, full.Full())
	require.Equal(t, "rlimits, landlock (ABI 1), seccomp", full.String())
}

// TestClient_lateCancellation checks that a context that is cancelled right after its call does not
// affect the next call.
func TestClient_lateCancellation(t *testing.T) {
	c := client(t, nil)
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if err := c.Call(ctx, []byte("echo"), nil); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		_, err := ask(c, "echo")
		require.NoError(t, err)
		<-ctx.Done()
	}
}

func TestClient_reachableFiles(t *testing.T) {
	dir := t.TempDir()
	yes, no := filepath.Join(dir, "yes"), filepath.Join(dir, "no")
	require.NoError(t, os.WriteFile(yes, []byte("may be read"), 0o644))
	require.NoError(t, os.WriteFile(no, []byte("secret"), 0o644))
	given := filepath.Join(dir, "given")
	require.NoError(t, os.WriteFile(given, []byte("handed over"), 0o644))
	f, err := os.Open(given)
	require.NoError(t, err)
	defer f.Close()
	t.Setenv("HYPERSLAB_SECRET", "of the host")
	c := client(t, func(cfg *worker.Config) {
		cfg.Read = []string{yes}
		cfg.Files = []*os.File{f}
	})
	got, err := ask(c, "open "+yes)
	require.NoError(t, err)
	require.Equal(t, "may be read", got)
	got, err = ask(c, "file")
	require.NoError(t, err, "a descriptor needs no path")
	require.Equal(t, "handed over", got)
	got, err = ask(c, "environ")
	require.NoError(t, err)
	require.NotContains(t, got, "SECRET")

	level := c.Level()
	if level.Landlock == 0 {
		t.Log("this kernel has no Landlock: paths are not fenced")
	} else {
		_, err = ask(c, "open "+no)
		require.ErrorIs(t, err, os.ErrPermission)
	}
	_, err = ask(c, "create "+filepath.Join(dir, "new"))
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(dir, "new"))
	if level.Seccomp {
		for _, what := range []string{"exec", "dial"} {
			_, err = ask(c, what)
			require.ErrorContains(t, err, "not implemented", what)
		}
	}
	require.Equal(t, 1, c.Starts(), "none of this ends the worker")
}

// TestClient_writableFiles checks that a worker can write only to its directory, and only files up
// to the maximum size.
func TestClient_writableFiles(t *testing.T) {
	capacity, other := t.TempDir(), t.TempDir()
	c := client(t, func(cfg *worker.Config) {
		cfg.Write = capacity
		cfg.Limits.File = 1 << 20
	})
	_, err := ask(c, fmt.Sprintf("make %s %d", capacity, 1<<20))
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(capacity, "sub", "b"))
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, info.Size())
	require.NoError(t, os.RemoveAll(filepath.Join(capacity, "sub")))
	_, err = ask(c, fmt.Sprintf("make %s %d", capacity, 1<<20+1))
	require.ErrorIs(t, err, syscall.EFBIG)
	if c.Level().Landlock > 0 {
		_, err = ask(c, "create "+filepath.Join(other, "new"))
		require.ErrorIs(t, err, os.ErrPermission)
		require.NoFileExists(t, filepath.Join(other, "new"))
	}
	if c.Level().Seccomp {
		for _, what := range []string{"exec", "dial", "link " + filepath.Join(capacity, "link")} {
			_, err = ask(c, what)
			require.ErrorContains(t, err, "not implemented", what)
		}
	}
	require.Equal(t, 1, c.Starts(), "none of this ends the worker")
}

func TestWorker_Misuse(t *testing.T) {
	c := client(t, func(cfg *worker.Config) { cfg.Require = worker.Level{Landlock: 1 << 20} })
	_, err := ask(c, "echo")
	require.ErrorIs(t, err, worker.ErrUnavailable)
	require.ErrorContains(t, err, "required")

	_, err = worker.NewRawClient("unknown", worker.Config{})
	require.ErrorIs(t, err, worker.ErrUnavailable)
	_, err = worker.NewRawClient("test", worker.Config{Limits: worker.Limits{Memory: -1}})
	require.Error(t, err)

	c = client(t, func(cfg *worker.Config) { cfg.Read = []string{"/does/not/exist/here"} })
	_, err = ask(c, "echo")
	require.ErrorIs(t, err, worker.ErrUnavailable)

	require.ErrorIs(t, c.Close(), nil)
	_, err = ask(c, "echo")
	require.ErrorIs(t, err, worker.ErrClosed)
	require.Panics(t, func() { worker.RegisterRaw("test", nil) })
}

func TestClient_goroutines(t *testing.T) {
	c := client(t, nil)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for range 5 {
				s := strings.Repeat(string(rune('a'+g%26)), g+1)
				got, err := ask(c, "echo "+s)
				if err != nil || got != s {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, c.Starts())
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c := client(b, nil)
		_, err := ask(c, "echo")
		require.NoError(b, err)
		require.NoError(b, c.Close())
	}
}

func BenchmarkCall(b *testing.B) {
	c := client(b, nil)
	for b.Loop() {
		_, err := ask(c, "echo")
		require.NoError(b, err)
	}
}

func TestClient_reopen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(name, []byte("first"), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.WriteFile(name, []byte("other"), 0o600))
	c := client(t, func(cfg *worker.Config) { cfg.Files = []*os.File{f} })
	got, err := ask(c, "reopen")
	require.NoError(t, err)
	require.Equal(t, "first", got, "the file that is open, not the one of that name")
	if c.Level().Landlock > 0 {
		_, err = ask(c, "open "+name)
		require.Error(t, err)
	}
}

func TestStream(t *testing.T) {
	c := client(t, nil)
	requests := func(list ...string) iter.Seq[[]byte] {
		return func(yield func([]byte) bool) {
			for _, r := range list {
				if !yield([]byte(r)) {
					return
				}
			}
		}
	}
	var seen []string
	use := func(answer, window []byte) error {
		half := len(window) / 2
		at := int(answer[0]-'0') * half
		require.Equal(t, bytes.Repeat(answer[1:2], half), window[at:at+half])
		seen = append(seen, string(answer))
		return nil
	}
	require.NoError(t, c.Stream(t.Context(), 1, requests("half 0a", "half 1b", "half 0c", "half 1d"), use))
	require.Equal(t, []string{"0a", "1b", "0c", "1d"}, seen)
	require.NoError(t, c.Stream(t.Context(), 1, requests(), use), "no request, no call")

	require.ErrorIs(t, c.Stream(t.Context(), 0, requests("echo"), nil), worker.ErrProtocol)
	require.ErrorIs(t, c.Stream(t.Context(), worker.MaxAhead+1, requests("echo"), nil), worker.ErrProtocol)

	// An error from any source ends the stream, and the next call gets its own answer.
	err := c.Stream(t.Context(), 1, requests("half 0a", "error two", "half 0c"), use)
	require.ErrorIs(t, err, errOdd)
	got, err := ask(c, "echo here")
	require.NoError(t, err)
	require.Equal(t, "here", got)
	stop := fmt.Errorf("enough")
	require.ErrorIs(t, c.Stream(t.Context(), 1, requests("echo a", "echo b", "echo c"), func([]byte, []byte) error { return stop }), stop)
	got, err = ask(c, "echo there")
	require.NoError(t, err)
	require.Equal(t, "there", got)
	require.Equal(t, 1, c.Starts())

	err = c.Stream(t.Context(), 1, requests("echo a", "segv", "echo c"), nil)
	require.ErrorIs(t, err, worker.ErrCrashed)
	got, err = ask(c, "echo fresh")
	require.NoError(t, err)
	require.Equal(t, "fresh", got)
	require.Equal(t, 2, c.Starts())
}

// TestStreamAhead checks that concurrent calls overlap, with answers in the order of the requests,
// and that an exclusive call runs alone.
func TestStreamAhead(t *testing.T) {
	c := client(t, nil)
	var seen []string
	use := func(answer, _ []byte) error {
		seen = append(seen, string(answer))
		return nil
	}
	var list, want []string
	for i := range 20 {
		// The worker answers neither of the two before it has received both.
		list = append(list, fmt.Sprintf("meet %da", i), fmt.Sprintf("meet %db", i), "alone")
		want = append(want, fmt.Sprintf("%da", i), fmt.Sprintf("%db", i), "0 others")
	}
	stream := func(ahead int, list []string) error {
		return c.Stream(t.Context(), ahead, func(yield func([]byte) bool) {
			for _, r := range list {
				if !yield([]byte(r)) {
					return
				}
			}
		}, use)
	}
	if runtime.GOMAXPROCS(0) == 1 {
		list, want = []string{"alone"}, []string{"0 others"} // the worker runs one call at a time
	}
	for _, ahead := range []int{2, 3, worker.MaxAhead} {
		seen = nil
		require.NoError(t, stream(ahead, list))
		require.Equal(t, want, seen)
	}
	// The first error in the order of the requests is returned, and the remaining answers are
	// discarded.
	err := stream(5, []string{"echo a", "error b", "error c", "echo d", "echo e", "echo f", "echo g"})
	require.EqualError(t, err, "an odd request: b")
	got, err := ask(c, "echo here")
	require.NoError(t, err)
	require.Equal(t, "here", got)
	require.Equal(t, 1, c.Starts())
}

// TestWorker_Start_signals checks that a worker starts, or reports the reason within the limit of a
// start, if no signals can be queued: because of ulimit -i 0, or because another process of the
// user holds all timers. Landlock before version 8 needs a signal for each thread.
func TestWorker_Start_signals(t *testing.T) {
	start := func(t *testing.T, most uint64) {
		var was unix.Rlimit
		require.NoError(t, unix.Getrlimit(unix.RLIMIT_SIGPENDING, &was))
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: most, Max: was.Max}))
		t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_SIGPENDING, &was)) })
		worker.Left() // an idle process has the old limit
		begin := time.Now()
		_, err := ask(client(t, nil), "echo x")
		require.Less(t, time.Since(begin), worker.StartLimit()+3*time.Second) // the last seconds are those of a busy machine
		if err != nil {
			require.ErrorIs(t, err, worker.ErrUnavailable)
			require.ErrorContains(t, err, "ulimit -i")
		}
	}
	t.Run("no place", func(t *testing.T) { start(t, 0) })
	t.Run("timers of another process", func(t *testing.T) {
		cmd := program(t, "holds timers")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { require.NoError(t, errors.Join(in.Close(), cmd.Wait())) })
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ready\n", line)
		start(t, heldTimers)
	})
}
