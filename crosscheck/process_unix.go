//go:build unix

package crosscheck

import (
	"os"
	"syscall"
)

// killGroup kills a process with [processAttributes] and its children.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
