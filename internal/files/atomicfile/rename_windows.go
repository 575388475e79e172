// Exclusive rename (MoveFileEx). Windows cannot exchange two names.

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func readOnly(string) bool { return false }

func renameNoReplace(from, to string) error {
	a, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	b, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	if err := windows.MoveFileEx(a, b, 0); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func exchange(from, to string) error {
	return &os.LinkError{Op: "exchange", Old: from, New: to, Err: errors.ErrUnsupported}
}
