// The place of a tree: any file system to read it from, or a directory of this
// machine, where files that are written appear whole.

package bcolz

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/hyperslab/hyperslab/ndarray"
)

// place is where a tree is read. root is nil where nothing can be written.
type place struct {
	fsys fs.FS
	root *os.Root
}

// openPlace opens the directory of a tree, so that nothing in it leads out of it.
func openPlace(path string) (place, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, ndarray.Mark(err, ndarray.ErrNotFound)
	}
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

// sub opens a directory of the place as one of its own.
func (p place) sub(name string) (place, error) {
	if p.root == nil {
		info, err := fs.Stat(p.fsys, name)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%w: %s is no directory", ndarray.ErrCorrupt, name)
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

// subFS is a directory of a file system. Unlike fs.Sub it asks the file system for
// what a file is, and does not open it for that.
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
	durable bool // others may open the tree: a file is on the disk before it has its name
}

// temporary is how the name of a file begins that is being written.
const temporary = ".tmp-"

// replace puts a file in its place at once.
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
	return s.syncDir(path.Dir(name))
}

func (s store) syncDir(name string) error {
	d, err := s.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
