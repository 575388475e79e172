//go:build !linux && !windows

package crosscheck

import "syscall"

const isolated = 0

// processAttributes puts a process into its own group, so that its children are killed with it.
func processAttributes(uintptr) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
