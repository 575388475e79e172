package crosscheck

import (
	"os"
	"syscall"
)

// isolated gives an adapter an empty network.
const isolated = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET

// processAttributes puts a process into its own group, so that its children are killed with it.
func processAttributes(flags uintptr) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Cloneflags: flags}
	if flags != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	return a
}
