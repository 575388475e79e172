//go:build linux || darwin

// Locks of an open file. See the package comment.

package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// inode is an open file or directory.
type inode struct {
	fd    int
	stat  unix.Stat_t
	write bool // the file is open for writing
	bytes bool // the lock is a byte lock, and the flock is shared
	owned bool // the byte lock is held
}

// again repeats a system call that a signal interrupts.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// openInode opens the file at a path, for writing if possible, because an exclusive byte lock
// requires it. It uses a descriptor because an os.File registers with the poller.
func openInode(path string) (*inode, error) {
	const flags = unix.O_NONBLOCK | unix.O_CLOEXEC
	on := &inode{fd: -1}
	open := func(mode int) error {
		return again(func() (err error) {
			on.fd, err = unix.Open(path, mode|flags, 0)
			return err
		})
	}
	err := open(unix.O_RDWR)
	on.write = err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) { // a directory, or without permission to write
		err = open(unix.O_RDONLY)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := again(func() error { return unix.Fstat(on.fd, &on.stat) }); err != nil {
		return nil, errors.Join(&os.PathError{Op: "stat", Path: path, Err: err}, on.close())
	}
	on.bytes = on.separate()
	return on, nil
}

// separates contains the result of separate for each device.
var separates sync.Map

// separate reports whether flock and byte locks do not conflict.
func (on *inode) separate() bool {
	if known, ok := separates.Load(on.stat.Dev); ok {
		return known.(bool) //nolint:forcetypeassert // the only type
	}
	is := on.hasSeparateLocks()
	separates.Store(on.stat.Dev, is)
	return is
}

func (on *inode) isDir() bool { return on.stat.Mode&unix.S_IFMT == unix.S_IFDIR }

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
	return again(func() error { return unix.Flock(on.fd, how) })
}

// try locks the file unless another writer holds it. library is set if libhdf5 takes the flock.
func (on *inode) try(library bool) (locked bool, err error) {
	if on.bytes && !on.owned {
		on.owned, err = result(on.lockByte())
		if errors.Is(err, unix.EINVAL) { // a kernel without such locks
			on.bytes, err = false, nil
		}
		if err != nil || on.bytes && !on.owned {
			return false, err
		}
	}
	switch {
	case library, on.bytes && on.isDir():
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

// tryWithin locks a directory unless another writer has its lock.
func (on *inode) tryWithin() (locked bool, err error) {
	if on.bytes {
		return result(on.lockWithin())
	}
	return result(on.flock(unix.LOCK_SH | unix.LOCK_NB))
}

// forLibrary releases the flock.
func (on *inode) forLibrary() error { return on.flock(unix.LOCK_UN) }

// exclusive reports whether the flock excludes readers of libhdf5.
func (on *inode) exclusive() bool { return !on.bytes }

// is reports whether a path names this file.
func (on *inode) is(path string) (bool, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Stat(path, &st) })
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Dev == on.stat.Dev && st.Ino == on.stat.Ino, nil
}

// describes reports whether info describes this file.
func (on *inode) describes(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && uint64(st.Dev) == uint64(on.stat.Dev) && st.Ino == on.stat.Ino
}

// close releases the locks.
func (on *inode) close() error { return unix.Close(on.fd) }

// keyOf returns a key for an entry of a directory: the inode of the directory, and the name.
func keyOf(path string) (string, error) {
	dir, name := filepath.Split(path)
	var st unix.Stat_t
	if err := again(func() error { return unix.Stat(dir+".", &st) }); err != nil {
		return "", &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	return strconv.FormatUint(uint64(st.Dev), 36) + ":" + strconv.FormatUint(st.Ino, 36) + "/" + name, nil
}
