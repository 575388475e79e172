//go:build !unix

package remote

import "io/fs"

// allocated returns the bytes of a file.
func allocated(info fs.FileInfo) int64 { return info.Size() }
