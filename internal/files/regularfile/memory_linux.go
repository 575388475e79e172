package regularfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Memory returns a file in memory with the content that write writes. It cannot be changed
// afterwards, has no name in any file system, and is removed when it is closed or the process ends.
func Memory(write func(*os.File) error) (_ *os.File, err error) {
	const name = "hyperslab"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err = write(f); err == nil {
		const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
