// Storage of a tree: any file system for reading, or a local directory in which files are written
// atomically.

package bcolz

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// place is the directory of a tree for reading. root is nil if it cannot be written.
type place struct {
	fsys fs.FS
	root *os.Root
}

// openPlace opens the directory of a tree as an os.Root, so that file names cannot lead outside it.
func openPlace(path string) (place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return place{}, err
	}
	if !info.IsDir() {
		return place{}, fmt.Errorf("%w: bcolz arrays are directories", ndarray.ErrFormat)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return place{}, err
	}
	return place{root.FS(), root}, nil
}

// sub opens a subdirectory as a place.
func (p place) sub(name string) (place, error) {
	if p.root == nil {
		info, err := fs.Stat(p.fsys, name)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%w: %s is not a directory", ndarray.ErrCorrupt, name)
		}
		if errors.Is(err, fs.ErrNotExist) { // an object store has no directories
			_, err = fs.Stat(p.fsys, path.Join(name, bcolztree.StorageFile))
		}
		if err != nil {
			return place{}, err
		}
		return place{fsys: subFS{p.fsys, name}}, nil
	}
	root, err := p.root.OpenRoot(name)
	if err != nil {
		return place{}, err
	}
	return place{root.FS(), root}, nil
}

// subFS is a subdirectory of a file system. Unlike fs.Sub, it supports Stat without opening the
// file.
type subFS struct {
	fsys fs.FS
	dir  string
}

func (s subFS) Open(name string) (fs.File, error) { return s.fsys.Open(path.Join(s.dir, name)) }

func (s subFS) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(s.fsys, path.Join(s.dir, name))
}

func (s subFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(s.fsys, path.Join(s.dir, name))
}

func (p place) close() error {
	if p.root == nil {
		return nil
	}
	return p.root.Close()
}

// store is the directory of a carray or ctable.
type store struct {
	root    *os.Root
	durable bool // other programs may open the tree: sync a file before its rename
}

// temporary is the name prefix of files that are being written.
const temporary = ".tmp-"

// replace writes a file atomically.
func (s store) replace(name string, content []byte) (err error) {
	tmp := path.Join(path.Dir(name), temporary+path.Base(name))
	f, err := s.root.Create(tmp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.root.Remove(tmp))
		}
	}()
	_, err = f.Write(content)
	if err == nil && s.durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = s.root.Rename(tmp, name); err != nil || !s.durable {
		return err
	}
	return atomicfile.SyncDir(s.root, path.Dir(name))
}
