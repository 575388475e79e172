package leak_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

// childEnv is the environment variable that makes this test binary leave a leak.
const childEnv = "HYPERSLAB_LEAK_TEST_CHILD"

func TestMain(m *testing.M) {
	var checks []leak.Check
	if os.Getenv(childEnv) != "" {
		checks = append(checks, leak.Check{Name: "lost sheep", Left: func() (int64, error) { return 99, nil }})
	}
	leak.Main(m, checks...)
}

func TestMain_leak(t *testing.T) {
	child := func(env string) ([]byte, error) {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childEnv+"="+env)
		return cmd.CombinedOutput()
	}
	out, err := child("1")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, string(out), "leak: 99 lost sheep left")

	out, err = child("")
	require.NoError(t, err, "%s", out)
}

func TestFind_names(t *testing.T) {
	broken := errors.New("the library does not answer")
	require.NoError(t, leak.Find(leak.Check{Name: "nothing", Left: func() (int64, error) { return 0, nil }}))

	err := leak.Find(
		leak.Check{Name: "nothing", Left: func() (int64, error) { return 0, nil }},
		leak.Check{Name: "open ids", Left: func() (int64, error) { return 3, nil }},
		leak.Check{Name: "queue", Left: func() (int64, error) { return 0, broken }})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "3 open ids left")
	require.NotContains(t, err.Error(), "nothing")
}

func TestFind_cMemory(t *testing.T) {
	p, err := cmem.Alloc(17)
	require.NoError(t, err)
	require.ErrorContains(t, leak.Find(), "17 bytes in 1 blocks")
	cmem.Free(p)
	require.NoError(t, leak.Find())
}

func TestFind_Goroutines(t *testing.T) {
	stop, gone := make(chan struct{}), make(chan struct{})
	go func() { defer close(gone); <-stop }()
	t.Run("left", func(t *testing.T) {
		leak.SetPatience(t, time.Second)
		require.ErrorContains(t, leak.Find(), "TestFind_Goroutines")
	})
	close(stop)
	<-gone
	require.NoError(t, leak.Find())
}

func TestFind_cleanups(t *testing.T) {
	var open atomic.Int64
	for range 100 {
		open.Add(1)
		runtime.AddCleanup(new(*byte), func(n *atomic.Int64) { n.Add(-1) }, &open)
	}
	require.NoError(t, leak.Find(leak.Check{Name: "owners", Left: func() (int64, error) { return open.Load(), nil }}))
}

// TestFind_slowCleanups checks that Find waits for a slow cleanup, as on a busy machine, also if
// later cleanups have already run.
func TestFind_slowCleanups(t *testing.T) {
	var open atomic.Int64
	begun := make(chan struct{})
	open.Add(1)
	runtime.AddCleanup(new(*byte), func(n *atomic.Int64) {
		close(begun)
		time.Sleep(500 * time.Millisecond)
		n.Add(-1)
	}, &open)
	runtime.GC()
	<-begun
	require.NoError(t, leak.Find(leak.Check{Name: "owners", Left: func() (int64, error) { return open.Load(), nil }}))
}

// TestFind_goroutines checks that Find waits for a goroutine that is about to end and for its
// resources.
func TestFind_goroutines(t *testing.T) {
	p, err := cmem.Alloc(17)
	require.NoError(t, err)
	go func() {
		time.Sleep(300 * time.Millisecond)
		cmem.Free(p)
	}()
	require.NoError(t, leak.Find())
}
