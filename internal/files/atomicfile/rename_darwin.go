// Exclusive rename and exchange of names (renamex_np).

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func renameNoReplace(from, to string) error { return renamex(from, to, unix.RENAME_EXCL) }

func exchange(from, to string) error { return renamex(from, to, unix.RENAME_SWAP) }

// renamex returns errors.ErrUnsupported if the file system does not support the flag.
func renamex(from, to string, flag uint32) error {
	err := unix.RenamexNp(from, to, flag)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL):
		err = errors.ErrUnsupported
	}
	return &os.LinkError{Op: "renamex_np", Old: from, New: to, Err: err}
}
