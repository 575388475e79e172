// FS, whose files are read at any offset.

package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// FS is a file system whose regular files are io.ReaderAt. A file that is none is read into memory
// when it is opened. The regular files are *File.
type FS struct {
	fsys fs.FS
	dir  string
	most int64 // bytes of a file that is read into memory
}

var (
	_ fs.StatFS     = FS{}
	_ fs.ReadDirFS  = FS{}
	_ fs.ReadLinkFS = FS{}
	_ fs.SubFS      = FS{}
)

// Files returns fsys as an FS. Files of at most most bytes are read into memory.
func Files(fsys fs.FS, most int64) FS { return FS{fsys, ".", most} }

// Sub returns the file system of a directory.
func (f FS) Sub(dir string) (fs.FS, error) { return FS{f.fsys, path.Join(f.dir, dir), f.most}, nil }

// in returns the result of a call for the path of a file.
func in[T any](f FS, op, name string, call func(fsys fs.FS, name string) (T, error)) (T, error) {
	if !fs.ValidPath(name) {
		return *new(T), &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return call(f.fsys, path.Join(f.dir, name))
}

// Stat returns the state of a file. Links are followed as fsys does it. It returns errs.ErrCorrupt
// for a file of negative size.
func (f FS) Stat(name string) (fs.FileInfo, error) {
	info, err := in(f, "stat", name, fs.Stat)
	if err == nil && info.Size() < 0 {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fmt.Errorf("%w: size: got %d bytes", errs.ErrCorrupt, info.Size())}
	}
	return info, err
}

// Lstat is Stat without following links.
func (f FS) Lstat(name string) (fs.FileInfo, error) { return in(f, "lstat", name, fs.Lstat) }

// ReadDir lists a directory.
func (f FS) ReadDir(name string) ([]fs.DirEntry, error) { return in(f, "readdir", name, fs.ReadDir) }

// ReadLink returns the target of a symbolic link.
func (f FS) ReadLink(name string) (string, error) { return in(f, "readlink", name, fs.ReadLink) }

// Open opens a file or a directory.
//
// It returns errs.ErrLimit for a large file that must be read into memory, errs.ErrFormat for a
// file that is neither regular nor a directory, errs.ErrCorrupt if the file has another size than
// its FileInfo, and the errors of fsys.
func (f FS) Open(name string) (fs.File, error) {
	info, err := f.Stat(name) // before opening, because opening a named pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: %v is not a regular file", errs.ErrFormat, info.Mode().Type())}
	}
	x, err := f.fsys.Open(path.Join(f.dir, name))
	if err != nil || info.IsDir() {
		return x, err
	}
	r, err := f.reader(x)
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: err}, x.Close())
	}
	return r, nil
}

// reader returns an open file as a file that is read at any offset.
func (f FS) reader(x fs.File) (*File, error) {
	info, err := x.Stat() // of the opened file, not of its name
	if err != nil {
		return nil, err
	}
	at, ok := x.(io.ReaderAt)
	if !ok {
		b, err := f.load(x, info.Size())
		if err != nil {
			return nil, err
		}
		at = bytes.NewReader(b)
	}
	r, err := ReaderAt(at, info.Size(), x.Close)
	if err != nil {
		return nil, err
	}
	return &File{Reader: r, raw: x, info: info}, nil
}

// Unwrap returns the file of the caller's file system, for a file that an FS opened.
func Unwrap(f fs.File) fs.File {
	if x, ok := f.(*File); ok {
		return x.raw
	}
	return f
}

// maxIdle is the number of calls of Read in turn that return no bytes before it is an error.
const maxIdle = 100

// load reads a file into memory.
func (f FS) load(r io.Reader, size int64) ([]byte, error) {
	if size > f.most {
		return nil, fmt.Errorf("%w: a file without ReadAt is read into memory: got %d bytes, want at most %d", errs.ErrLimit, size, f.most)
	}
	b := make([]byte, max(size, 0)+1) // one more, so that the end is found
	n, idle := 0, 0
	for n < len(b) {
		k, err := r.Read(b[n:])
		if k < 0 || k > len(b)-n {
			return nil, fmt.Errorf("%w: bytes that the file returned: got %d, want at most %d", errs.ErrParam, k, len(b)-n)
		}
		n += k
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if idle++; k > 0 {
			idle = 0
		}
		if idle == maxIdle {
			return nil, io.ErrNoProgress
		}
	}
	if int64(n) != size {
		return nil, fmt.Errorf("%w: size of a file: got %d bytes or more, want %d", errs.ErrCorrupt, n, size)
	}
	return b[:n], nil
}
