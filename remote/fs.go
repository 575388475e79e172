// Directories: objects below a URL as a file system.

package remote

import (
	"context"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

// FS returns the objects below a URL as a file system, for example a sparse frame. A file is opened
// by its name with the requests of Open. Directories cannot be listed, because HTTP has no lists.
// The end of ctx makes Open of the file system fail.
//
// It returns ErrRefused for a URL that is not allowed or has a query.
func (c *Client) FS(ctx context.Context, url string) (fs.FS, error) {
	u, err := parse(url)
	if err == nil && u.RawQuery != "" {
		err = ErrRefused
	}
	if err != nil {
		return nil, fail("open", Redact(url), err)
	}
	return &fileSystem{ctx, c, strings.TrimSuffix(url, "/")}, nil
}

type fileSystem struct {
	ctx  context.Context
	c    *Client
	base string
}

var (
	_ fs.StatFS    = (*fileSystem)(nil)
	_ fs.ReadDirFS = (*fileSystem)(nil)
)

// Open opens an object.
func (f *fileSystem) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	o, err := f.c.open(f.ctx, urlfile.Join(f.base, name), false, f.base)
	if err != nil {
		return nil, err
	}
	return &file{Object: o, name: path.Base(name)}, nil
}

// Stat opens an object. A later Open then needs no request. The root is a directory.
func (f *fileSystem) Stat(name string) (fs.FileInfo, error) {
	if name == "." {
		return rootInfo{}, nil
	}
	o, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := o.Stat()
	if err != nil {
		return nil, err
	}
	return info, o.Close()
}

// ReadDir returns fs.ErrNotExist, because HTTP has no directories.
func (f *fileSystem) ReadDir(name string) ([]fs.DirEntry, error) {
	return nil, &fs.PathError{Op: "list", Path: name, Err: fs.ErrNotExist}
}

// file is an object as an fs.File. Only one goroutine may use Read.
type file struct {
	*Object
	name string
	at   int64
}

func (f *file) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (f *file) Stat() (fs.FileInfo, error) { return fileInfo{f}, nil }

// rootInfo is the root of a file system.
type rootInfo struct{}

func (rootInfo) Name() string       { return "." }
func (rootInfo) Size() int64        { return 0 }
func (rootInfo) Mode() fs.FileMode  { return fs.ModeDir | 0o555 }
func (rootInfo) IsDir() bool        { return true }
func (rootInfo) Sys() any           { return nil }
func (rootInfo) ModTime() time.Time { return time.Time{} }

type fileInfo struct{ f *file }

func (i fileInfo) Name() string       { return i.f.name }
func (i fileInfo) Size() int64        { return i.f.v.size }
func (i fileInfo) Mode() fs.FileMode  { return 0o444 }
func (i fileInfo) IsDir() bool        { return false }
func (i fileInfo) Sys() any           { return nil }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
