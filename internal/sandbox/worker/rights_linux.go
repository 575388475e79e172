// Transfer of descriptors over the control socket: the window and the files of a worker.

package worker

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
