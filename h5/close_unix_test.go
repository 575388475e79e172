//go:build unix

package h5_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestFile_Close_startedProcess opens and closes a file while other goroutines start processes. No
// process may inherit the file, and a closed file has no lock.
func TestFile_Close_startedProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	var done atomic.Bool
	var starts sync.WaitGroup
	for range 4 {
		starts.Go(func() {
			for !done.Load() {
				open, err := exec.Command("ls", "-l", "/proc/self/fd").CombinedOutput()
				if !assert.NoError(t, err) || !assert.NotContains(t, string(open), path) {
					return
				}
			}
		})
	}
	defer starts.Wait()
	defer done.Store(true)
	for range 1000 {
		f, err := h5.Open(path, h5.ReadWrite)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}

// TestFile_Close_lock checks that the lock of a file remains while any File has it open.
func TestFile_Close_lock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	lock := func() error {
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	a, err := h5.Create(path, nil)
	require.NoError(t, err)
	b, err := a.Reopen()
	require.NoError(t, err)
	c, err := h5.Open(path, h5.ReadWrite)
	require.NoError(t, err)
	for _, f := range []*h5.File{a, b, c} {
		require.ErrorIs(t, lock(), syscall.EWOULDBLOCK)
		require.NoError(t, f.Close())
	}
	require.NoError(t, lock())
}
