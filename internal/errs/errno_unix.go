//go:build !windows

package errs

import "syscall"

// Errno returns the error of an errno of C.
func Errno(n int) syscall.Errno { return syscall.Errno(n) }
