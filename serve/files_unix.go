//go:build unix

package serve

import (
	"io/fs"
	"syscall"
)

// nonBlocking opens a pipe without waiting for its writer.
const nonBlocking = syscall.O_NONBLOCK

// inode returns the number of a file in its file system.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}
