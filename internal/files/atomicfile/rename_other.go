//go:build !linux && !windows && !darwin

// Systems without exclusive rename and exchange. A read-only file system is found only by writing.

package atomicfile

import (
	"errors"
	"os"
)

func readOnly(string) bool { return false }

func renameNoReplace(from, to string) error {
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: errors.ErrUnsupported}
}

func exchange(from, to string) error {
	return &os.LinkError{Op: "exchange", Old: from, New: to, Err: errors.ErrUnsupported}
}
