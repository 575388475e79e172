package shell

import "syscall"

// fileTooLarge is a signal that Windows does not send.
const fileTooLarge = syscall.Signal(0x19)

// outputClosed returns false because Windows reports a closed pipe by the error of a write only.
func outputClosed() bool { return false }
