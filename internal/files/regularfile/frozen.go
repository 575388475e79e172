// File system of a directory that detects replaced files.

package regularfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// ErrReplaced means that a file is not the one that existed before: when a Frozen directory, an
// array or a change began.
var ErrReplaced = errs.New("file was replaced or changed by another program")

// Frozen is a file system of a directory and everything below it. It opens a file only if the file
// is the one that existed when Freeze was called, with the same length and modification time. A
// check of the file therefore stays valid for later reads. Paths cannot lead out of the directory.
type Frozen struct {
	root  *os.Root
	files map[string]fs.FileInfo
}

var (
	_ fs.StatFS    = (*Frozen)(nil)
	_ fs.ReadDirFS = (*Frozen)(nil)
)

// Freeze records all files of a directory. The caller must close the result.
func Freeze(dir string) (_ *Frozen, err error) {
	root, err := OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Frozen{root, map[string]fs.FileInfo{}}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		// Links out of the directory, and links without a target, are skipped.
		if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
			f.files[name] = info
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// Same reports whether a and b describe the same file, with the same length and modification time.
func Same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Open opens a file or a directory. It returns ErrReplaced if the file is not the recorded one.
func (f *Frozen) Open(name string) (fs.File, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.IsDir() {
		was := f.files[name]
		if was == nil || !Same(was, info) {
			err = &fs.PathError{Op: "open", Path: name, Err: ErrReplaced}
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Stat returns the current state of a file.
func (f *Frozen) Stat(name string) (fs.FileInfo, error) { return f.root.Stat(name) }

// Lstat returns the current state of a file. For a symbolic link that is the link itself.
func (f *Frozen) Lstat(name string) (fs.FileInfo, error) { return f.root.Lstat(name) }

// ReadDir lists the current content of a directory.
func (f *Frozen) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.root.FS(), name) }

// Close closes the directory.
func (f *Frozen) Close() error { return f.root.Close() }
