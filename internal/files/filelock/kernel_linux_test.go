package filelock

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestAcquire_flock checks the conditions under which libhdf5 can open a file.
func TestAcquire_flock(t *testing.T) {
	path := file(t, "")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // read-only
	flock := func(how int) error { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) }

	t.Run("reader", func(t *testing.T) {
		require.NoError(t, flock(unix.LOCK_SH))
		vacant(t, path, nil)
		l, err := Acquire(bg, path, nil)
		require.NoError(t, err)
		require.NoError(t, flock(unix.LOCK_UN))
		require.NoError(t, flock(unix.LOCK_SH))
		require.ErrorIs(t, flock(unix.LOCK_EX), unix.EAGAIN, "no writer")
		require.NoError(t, flock(unix.LOCK_UN))
		require.NoError(t, l.ForLibrary())
		require.NoError(t, flock(unix.LOCK_EX))
		busy(t, path, nil)
		require.NoError(t, l.Release())
		require.NoError(t, flock(unix.LOCK_UN))
	})
	t.Run("writer", func(t *testing.T) {
		require.NoError(t, flock(unix.LOCK_EX))
		require.ErrorContains(t, busy(t, path, nil), "this process")
		unlocked := make(chan error)
		go func() {
			time.Sleep(20 * time.Millisecond)
			unlocked <- flock(unix.LOCK_UN)
		}()
		vacant(t, path, nil)
		require.NoError(t, <-unlocked)
	})
	t.Run("file without permission to write", func(t *testing.T) {
		limited := func() *inode {
			on, err := openInode(path)
			require.NoError(t, err)
			on.write = false // as for such a file
			return on
		}
		first, second := limited(), limited()
		locked, err := first.try(false)
		require.NoError(t, err)
		require.True(t, locked)
		locked, err = second.try(false)
		require.NoError(t, err)
		require.False(t, locked)
		busy(t, path, nil)
		require.NoError(t, first.close())
		vacant(t, path, nil)
		locked, err = second.try(false)
		require.NoError(t, err)
		require.True(t, locked)
		require.NoError(t, second.close())
	})
	t.Run("file system without separate locks", func(t *testing.T) {
		l, err := Acquire(bg, path, nil)
		require.NoError(t, err)
		require.False(t, Exclusive(path))
		l.h.on.bytes = false
		require.True(t, Exclusive(path))
		require.False(t, Exclusive(path+"x"))
		require.NoError(t, l.Release())
		require.False(t, Exclusive(path))
		on, err := openInode(path)
		require.NoError(t, err)
		on.bytes = false
		locked, err := on.try(false)
		require.NoError(t, err)
		require.True(t, locked)
		busy(t, path, nil)
		require.NoError(t, on.close())
	})
}
