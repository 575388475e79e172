// Rights of a worker: its capabilities, and the transfer of descriptors over the control socket,
// which are the window and the files.

package worker

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dropCapabilities removes the capabilities of the calling thread, and thus those of the processes
// that it starts: no_new_privs prevents that root gets them back by executing a program. The
// capability to read files of other users remains, because a worker of root opens its files again.
func dropCapabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	kept := sets[0].Effective & (1 << unix.CAP_DAC_READ_SEARCH)
	sets = [2]unix.CapUserData{{Effective: kept, Permitted: kept}}
	if err := unix.Capset(&head, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	return nil
}

// reopened opens files again for reading. The descriptor of a file that is sent as it is shares its
// offset, flags and locks with that of the host.
func reopened(files []*os.File) (again []*os.File, err error) {
	for _, f := range files {
		g, err := os.OpenFile(FilePath(f), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		if err != nil {
			closeAll(again)
			return nil, fmt.Errorf("open %s again: %w", f.Name(), err)
		}
		again = append(again, g)
	}
	return again, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // open for reading only
	}
}

// sendFiles sends a frame without a payload, together with the files.
func sendFiles(control *os.File, files []*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	raw, err := control.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		sent = unix.Sendmsg(int(fd), []byte{frameFiles, 0, 0, 0, 0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
		return sent != unix.EAGAIN
	})
	if err != nil {
		return err
	}
	return sent
}

// receiveFiles receives a frame of sendFiles. It returns nil without an error if the host has
// ended.
func receiveFiles(control *os.File) ([]int, error) {
	raw, err := control.SyscallConn()
	if err != nil {
		return nil, err
	}
	head, rights := make([]byte, frameHead), make([]byte, unix.CmsgSpace(4*(maxFiles+1)))
	var n, size, flags int
	var got error
	err = raw.Read(func(fd uintptr) bool {
		n, size, flags, _, got = unix.Recvmsg(int(fd), head, rights, unix.MSG_CMSG_CLOEXEC)
		return got != unix.EAGAIN
	})
	switch {
	case err != nil:
		return nil, err
	case got != nil:
		return nil, got
	case n == 0:
		return nil, nil
	case n != frameHead || head[0] != frameFiles || flags&unix.MSG_CTRUNC != 0:
		return nil, fmt.Errorf("%w: %d bytes, kind %d, flags %#x for descriptors", ErrProtocol, n, head[0], flags)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%w: %d messages with descriptors: %w", ErrProtocol, len(messages), err)
	}
	return unix.ParseUnixRights(&messages[0])
}
