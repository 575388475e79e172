// Dir, a directory as a file system.

package regularfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is the file system of a directory. Unlike os.DirFS it accepts every name that the system has,
// also one that is not UTF-8, and does not wait at a named pipe. It follows links.
type Dir string

var (
	_ fs.StatFS     = Dir("")
	_ fs.ReadDirFS  = Dir("")
	_ fs.ReadLinkFS = Dir("")
)

// Path returns the path of a file.
func (d Dir) Path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Open opens a regular file or a directory.
func (d Dir) Open(name string) (fs.File, error) {
	f, _, err := Open(d.Path(name))
	if err == nil {
		return f, nil
	}
	if info, serr := os.Stat(d.Path(name)); errors.Is(err, ErrNot) && serr == nil && info.IsDir() {
		if f, err = os.Open(d.Path(name)); err == nil {
			return f, nil
		}
	}
	return nil, err
}

// Stat returns the state of a file.
func (d Dir) Stat(name string) (fs.FileInfo, error) { return os.Stat(d.Path(name)) }

// Lstat returns the state of a file. For a symbolic link that is the link itself.
func (d Dir) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(d.Path(name)) }

// ReadDir lists a directory.
func (d Dir) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(d.Path(name)) }

// ReadLink returns the target of a link.
func (d Dir) ReadLink(name string) (string, error) { return os.Readlink(d.Path(name)) }
