//go:build !linux && !darwin && !windows

package filelock

import (
	"errors"
	"os"
	"path/filepath"
)

// inode does not exist on systems without flock.
type inode struct{}

func openInode(string) (*inode, error) { return &inode{}, nil }
func (*inode) try(bool) (bool, error)  { return false, errors.ErrUnsupported }
func (*inode) is(string) (bool, error) { return true, nil }
func (*inode) forLibrary() error       { return nil }
func (*inode) announce()               {}
func (*inode) awaited() bool           { return false }
func (*inode) holder() string          { return "" }
func (*inode) libraryHolder() string   { return "" }
func (*inode) exclusive() bool         { return false }
func (*inode) close() error            { return nil }

// keyOf returns a key for an entry of a directory.
func keyOf(path string) (string, error) { return filepath.EvalSymlinks(path) }

// describes returns false: the caller then looks at the file again.
func (*inode) describes(os.FileInfo) bool { return false }

// isDir returns false: subdirectories are not locked, because their writers share no lock.
func (*inode) isDir() bool { return false }

// tryWithin has no effect: the system has no shared lock of a directory.
func (*inode) tryWithin() (bool, error) { return true, nil }
