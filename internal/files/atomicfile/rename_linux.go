// Exclusive rename and exchange of names (renameat2).

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func renameNoReplace(from, to string) error {
	return renameat2(from, to, unix.RENAME_NOREPLACE)
}

func exchange(from, to string) error {
	return renameat2(from, to, unix.RENAME_EXCHANGE)
}

// renameat2 returns errors.ErrUnsupported if the kernel or the file system does not support the
// flag, in which case the system call returns EINVAL or ENOSYS.
func renameat2(from, to string, flag uint) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flag)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
			err = errors.ErrUnsupported
		}
		return &os.LinkError{Op: "renameat2", Old: from, New: to, Err: err}
	}
}
