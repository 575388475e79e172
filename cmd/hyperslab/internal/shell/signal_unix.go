//go:build unix

package shell

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileTooLarge is the signal of the limit on file sizes.
const fileTooLarge = syscall.SIGXFSZ

// outputClosed reports whether standard output or standard error has no reader any longer.
func outputClosed() bool {
	fds := []unix.PollFd{{Fd: int32(syscall.Stdout)}, {Fd: int32(syscall.Stderr)}}
	for {
		n, err := unix.Poll(fds, 0)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return n > 0 && (fds[0].Revents|fds[1].Revents)&(unix.POLLERR|unix.POLLHUP) != 0
	}
}
