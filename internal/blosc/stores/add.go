// Objects added to an existing directory.

package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Add starts a file for the object of a key in the existing store at dir, which has a format of
// package detect. ext is the extension of the file. The caller writes the frame to Output.Path and
// commits it. Other writers wait meanwhile. held is the lock of dir that the caller holds, or nil.
// overwrite allows to replace an array that is a file of that extension.
//
// It returns errors.ErrUnsupported for a .b2z and a .b2e, which are written as a whole, and for a
// key inside a table or an array; ndarray.ErrExists, ErrParam for a group or for the root, and the
// errors of Open and b2store.CheckKey.
func Add(ctx context.Context, held *filelock.Lock, dir, kind, key, ext string, overwrite bool) (_ *atomicfile.Output, err error) {
	lock := held.Share()
	if lock == nil {
		if lock, err = filelock.Acquire(ctx, dir, nil); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	if err := CheckAdd(dir, kind, key, ext, overwrite); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(key, "/"))+ext)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return nil, err
	}
	return atomicfile.Create(ctx, file, atomicfile.Options{Overwrite: overwrite, Around: lock})
}

// CheckAdd returns the errors of Add, and creates nothing.
func CheckAdd(dir, kind, key, ext string, overwrite bool) (err error) {
	if kind != detect.B2D {
		return fmt.Errorf("%w: adding %s to an existing %s; convert it to a .b2d, which can be added to, and back", errors.ErrUnsupported, key, kind)
	}
	if key == "/" {
		return fmt.Errorf("%w: a path in the store: got /, want that of an array", ndarray.ErrParam)
	}
	if err := b2store.CheckKey(key); err != nil {
		return err
	}
	s, err := Open(dir, kind, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, group := s.Members(key); group {
		return fmt.Errorf("%w: %s is a group; an array replaces an array", ndarray.ErrParam, key)
	}
	if err := s.checkAbove(key); err != nil {
		return err
	}
	if x, err := s.Object(key); err == nil {
		switch {
		case !overwrite:
			return fmt.Errorf("%w: object %s", ndarray.ErrExists, key)
		case x.Member.Name != "" && path.Ext(x.Member.Name) != ext:
			return fmt.Errorf("%w: replacing %s: got a file %s, want the extension %s", errors.ErrUnsupported, key, x.Member.Name, ext)
		}
	}
	return nil
}

// checkAbove returns errors.ErrUnsupported for a key inside a table or an array.
func (s *Store) checkAbove(key string) error {
	for at := path.Dir(key); ; at = path.Dir(at) {
		if s.Table(at) != nil {
			return fmt.Errorf("%w: adding %s to the table %s", errors.ErrUnsupported, key, at)
		}
		if _, err := s.Object(at); err == nil {
			return fmt.Errorf("%w: adding %s below %s, which is an array", errors.ErrUnsupported, key, at)
		}
		if at == "/" {
			return nil
		}
	}
}

// CheckGroup returns an error unless a group can be added: ndarray.ErrExists for an existing group
// unless overwrite is set, ErrParam for an array, or errors.ErrUnsupported for a key inside a table
// or an array.
func (s *Store) CheckGroup(key string, overwrite bool) error {
	if _, err := s.Object(key); err == nil {
		return fmt.Errorf("%w: %s is an array; a group replaces a group", ndarray.ErrParam, key)
	}
	if _, group := s.Members(key); group && !overwrite {
		return fmt.Errorf("%w: group %s", ndarray.ErrExists, key)
	}
	return s.checkAbove(key)
}

// Extension returns the extension that python-blosc2 gives the file of a frame.
func Extension(h cframe.Header) string {
	has := func(name string) bool { _, is := h.Metalayer(name); return is }
	switch {
	case has(b2ndmeta.Name):
		return b2store.ArrayExt
	case has(b2store.BatchLayer) && !has(b2store.ListLayer):
		return b2store.BatchExt
	}
	return b2store.FrameExt
}
