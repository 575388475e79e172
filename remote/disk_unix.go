//go:build unix

package remote

import (
	"io/fs"
	"syscall"
)

// allocated returns the bytes of a file on the disk, without holes.
func allocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
