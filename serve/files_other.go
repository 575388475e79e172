//go:build !unix

package serve

import "io/fs"

const nonBlocking = 0

func inode(fs.FileInfo) uint64 { return 0 }
