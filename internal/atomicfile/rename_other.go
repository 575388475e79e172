//go:build !linux

// Systems without exclusive rename and exchange.

package atomicfile

import (
	"errors"
	"os"
)

func renameNoReplace(from, to string) error {
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: errors.ErrUnsupported}
}

func exchange(from, to string) error {
	return &os.LinkError{Op: "exchange", Old: from, New: to, Err: errors.ErrUnsupported}
}
