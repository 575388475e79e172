//go:build linux || darwin

package atomicfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// readOnly reports whether a directory is on a file system that is read-only.
func readOnly(dir string) bool { return errors.Is(unix.Access(dir, unix.W_OK), unix.EROFS) }
