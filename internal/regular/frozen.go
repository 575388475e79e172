// A directory whose files stay the ones that were looked at.

package regular

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrReplaced means a file of a Frozen directory that is not the one from the beginning.
var ErrReplaced = errors.New("file was replaced or changed while its directory was open")

// Frozen is a file system of a directory and what is below it. It opens a file only if it is
// the one that was there when Freeze was called, with the same length and time of change, so
// that a check of the file holds for later reads. Nothing leads out of the directory.
type Frozen struct {
	root  *os.Root
	files map[string]fs.FileInfo
}

var (
	_ fs.StatFS    = (*Frozen)(nil)
	_ fs.ReadDirFS = (*Frozen)(nil)
)

// Freeze notes all files of a directory. The caller closes the result.
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
		// A link that leads out of the directory, or nowhere, is no file.
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

// Same reports whether a and b describe the same file, with the same length and time of change.
func Same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Open opens a file or a directory. It returns ErrReplaced for a file that is another one.
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

// Stat describes a file as it is now.
func (f *Frozen) Stat(name string) (fs.FileInfo, error) { return f.root.Stat(name) }

// Lstat describes a file as it is now, and a symbolic link itself.
func (f *Frozen) Lstat(name string) (fs.FileInfo, error) { return f.root.Lstat(name) }

// ReadDir lists a directory as it is now.
func (f *Frozen) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.root.FS(), name) }

// Close closes the directory.
func (f *Frozen) Close() error { return f.root.Close() }
