//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutput_Commit_sync checks that a file system without fsync keeps a committed file and is
// listed, and that another error of fsync prevents the commit.
func TestOutput_Commit_sync(t *testing.T) {
	was := fsync
	defer func() { fsync = was }()
	for errno, written := range map[syscall.Errno]bool{syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.EIO: false} {
		dir := t.TempDir()
		fsync = func(f Syncer) error { return &os.PathError{Op: "sync", Path: f.(*os.File).Name(), Err: errno} }
		out, err := Create(t.Context(), filepath.Join(dir, "a"), Options{})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(out.Path(), []byte("x"), 0o600))
		err = out.Commit()
		require.NoError(t, out.Abort())
		if !written {
			require.ErrorIs(t, err, errno)
			require.NoFileExists(t, filepath.Join(dir, "a"))
			require.NotContains(t, Unsynced(), dir)
			continue
		}
		require.NoError(t, err)
		require.FileExists(t, filepath.Join(dir, "a"))
		require.Contains(t, Unsynced(), dir)
	}
}
