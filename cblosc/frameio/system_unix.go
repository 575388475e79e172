//go:build unix

package frameio

import (
	"os"
	"strconv"
	"syscall"
)

// mmap maps the first bytes of a file into memory, for reading.
func mmap(f *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
}

func munmap(b []byte) { _ = syscall.Munmap(b) }

// reopen opens the file of a descriptor another time, with a position and a lock of its own.
func reopen(fd uintptr, name string) (*os.File, error) {
	n, err := syscall.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(n), name), nil
}
