package frameio_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestAppend_compactForbidden checks that a durable Append in a directory without write permission
// appends to the frame and does not compact it.
func TestAppend_compactForbidden(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "frame")
	deadFrame(t, path)
	size := testutil.FileSize(t, path)
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { require.NoError(t, os.Chmod(dir, 0o700)) })
	withoutOverride(t)
	require.ErrorIs(t, frameio.Compact(path), fs.ErrPermission)
	appendDurably(t, path, testutil.Noise(800, 4))
	require.Greater(t, testutil.FileSize(t, path), size)
	require.EqualValues(t, 4, openFrame(t, path).NumChunks())
}

// withoutOverride drops the capability of this thread that allows root to write to every directory,
// until the test ends.
func withoutOverride(t *testing.T) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	runtime.LockOSThread()
	require.NoError(t, unix.Capget(&header, &data[0]))
	before := data
	data[0].Effective &^= 1 << unix.CAP_DAC_OVERRIDE
	require.NoError(t, unix.Capset(&header, &data[0]))
	t.Cleanup(func() {
		require.NoError(t, unix.Capset(&header, &before[0]))
		runtime.UnlockOSThread()
	})
}
