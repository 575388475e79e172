package frameio_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
)

// TestAppend_compactForbidden checks that a durable Append does not compact a frame in a directory
// without write permission, but extends it.
func TestAppend_compactForbidden(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "frame")
	deadFrame(t, path)
	size := sizeOf(t, path)
	require.NoError(t, os.Chmod(path, 0o666))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // created with 0700
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { require.NoError(t, os.Chmod(dir, 0o700)) })
	if os.Geteuid() == 0 { // root may write to every directory
		const nobody = 65534
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		require.NoError(t, syscall.Setfsuid(nobody))
		defer func() { require.NoError(t, syscall.Setfsuid(0)) }()
	}
	require.ErrorIs(t, frameio.Compact(path), fs.ErrPermission)
	appendDurably(t, path, noise(800, 4))
	require.Greater(t, sizeOf(t, path), size)
	require.EqualValues(t, 4, openFrame(t, path).NumChunks())
}
