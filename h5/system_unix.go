//go:build unix

package h5

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sameFile returns an error unless f is the file of a descriptor.
func sameFile(fd int, f *os.File) error {
	var was, is unix.Stat_t
	err := errors.Join(unix.Fstat(fd, &was), unix.Fstat(int(f.Fd()), &is))
	if err == nil && (was.Dev != is.Dev || was.Ino != is.Ino) {
		err = errors.New("another file is at its path now")
	}
	return err
}

// inMotion reports whether another process has locked the file for writing, as libhdf5 does
// (H5FD__sec2_lock).
func inMotion(f *os.File) bool {
	fd := int(f.Fd())
	rc := syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB)
	if rc == nil {
		// A process that is being started could keep the lock after Close.
		_ = syscall.Flock(fd, syscall.LOCK_UN)
	}
	return errors.Is(rc, syscall.EWOULDBLOCK)
}
