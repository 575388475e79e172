//go:build unix

package remote

import (
	"io/fs"
	"os"
	"syscall"
)

// allocated returns the bytes of a file on the disk, without holes.
func allocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}

// exclusive reports whether a file belongs to this user and others have no access to it.
func exclusive(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && s.Nlink <= 1 && info.Mode().Perm()&0o077 == 0
}
