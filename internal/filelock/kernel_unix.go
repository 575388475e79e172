//go:build linux || darwin

// Locks of an open file. See the package comment.

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// inode is an open file or directory.
type inode struct {
	f     *os.File
	info  os.FileInfo
	write bool // the file is open for writing
	bytes bool // the lock is a byte lock, and the flock is shared
	owned bool // the byte lock is held
}

// openInode opens the file at a path, for writing if possible, because an exclusive byte lock
// requires it.
func openInode(path string) (_ *inode, err error) {
	on := &inode{}
	on.f, err = os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	on.write = err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a directory, or without permission to write
		on.f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, err
	}
	if on.info, err = on.f.Stat(); err != nil {
		return nil, errors.Join(err, on.f.Close())
	}
	on.bytes = on.separate()
	return on, nil
}

// fd calls f with the descriptor, and repeats interrupted calls.
func (on *inode) fd(f func(fd int) error) error {
	for {
		if err := f(int(on.f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// result classifies the error of a lock that does not wait.
func result(err error) (locked bool, _ error) {
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return false, nil
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EBADF):
		return false, fmt.Errorf("the file system refuses locks: %w: %w", errors.ErrUnsupported, err)
	}
	return false, err
}

func (on *inode) flock(how int) error {
	return on.fd(func(fd int) error { return unix.Flock(fd, how) })
}

// try locks the file unless another writer holds it. library is set if libhdf5 takes the flock.
func (on *inode) try(library bool) (locked bool, err error) {
	if on.bytes && !on.owned {
		on.owned, err = result(on.lockByte())
		if errors.Is(err, syscall.EINVAL) { // a kernel without such locks
			on.bytes, err = false, nil
		}
		if err != nil || on.bytes && !on.owned {
			return false, err
		}
	}
	switch {
	case library, on.bytes && on.info.IsDir():
		locked = true
	case on.bytes:
		locked, err = result(on.flock(unix.LOCK_SH | unix.LOCK_NB))
	default:
		locked, err = result(on.flock(unix.LOCK_EX | unix.LOCK_NB))
	}
	if locked {
		on.mark()
	}
	return locked, err
}

// forLibrary releases the flock.
func (on *inode) forLibrary() error { return on.flock(unix.LOCK_UN) }

// exclusive reports whether the flock excludes readers of libhdf5.
func (on *inode) exclusive() bool { return !on.bytes }

// is reports whether a path names this file.
func (on *inode) is(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, on.info), err
}

// close releases the locks.
func (on *inode) close() error { return on.f.Close() }
