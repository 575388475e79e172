// CopyTree to targets whose arrays are Blosc2 frames: directories of arrays, and the common part of
// containers of python-blosc2.

package hyperslab

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree/directories"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// frameFiles receives the frames of a target.
type frameFiles interface {
	// begin returns the name of a file to create for a key.
	begin(key, ext string) (string, error)
	// finish adds the complete file.
	finish(key, ext string) error
	// drop removes a file that is not added.
	drop(key, ext string) error
}

// frameTarget is a directory of arrays.
type frameTarget struct {
	plainTarget
	files frameFiles
}

func (t *frameTarget) traits() traits {
	return traits{format: B2ND, compression: b2nd.DefaultCompression(), frames: true, groupAttrs: true}
}

func (t *frameTarget) checkName(at string, group bool) error {
	if at == "/" {
		return nil
	}
	_, err := directories.FileName(at[strings.LastIndexByte(at, '/')+1:], group)
	return err
}

func (t *frameTarget) check(_ string, spec ndarray.Spec, _ int64) error { return b2nd.Check(spec) }

// stores reports that a frame stores each attribute.
func (t *frameTarget) stores(ndarray.Attr) bool { return true }

// plan plans the copy of a frame that is not a b2nd or Caterva array.
func (t *frameTarget) plan(item *treeItem) (planned bool, err error) {
	if item.entry.Kind != Array {
		return false, nil
	}
	f, ext, err := t.c.source.frame(item.from)
	if f == nil || err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h, err := cframe.ReadHeader(f, f.Size, cframe.DefaultLimits())
	if err != nil {
		return false, nil // opening the array returns the reason
	}
	for _, name := range []string{b2ndmeta.Name, b2ndmeta.CatervaName} {
		if _, is := h.Metalayer(name); is {
			return false, nil
		}
	}
	if item.ext = ext; ext != b2store.FrameExt && ext != b2store.BatchExt {
		item.ext = stores.Extension(h)
	}
	item.frame = func() (*stores.Frame, error) {
		f, _, err := t.c.source.frame(item.from)
		return f, err
	}
	item.bytes = f.Size
	t.c.stats.Attrs += item.entry.Attrs
	t.c.addArray(item)
	return true, nil
}

// write writes a directory of arrays.
func (t *frameTarget) write(ctx context.Context, dir string) error {
	for _, item := range t.c.groups {
		at, err := place(dir, item.path, true)
		if err != nil {
			return err
		}
		if err := os.Mkdir(at, 0o777); err != nil {
			return err
		}
		b, err := b2nd.Create(filepath.Join(at, detect.GroupFile), directories.GroupSpec(item.attrs), nil)
		if err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	t.files = arrayFiles(dir)
	return t.c.copyArrays(ctx, t)
}

// own copies a frame byte for byte.
func (t *frameTarget) own(ctx context.Context, item *treeItem) (bool, error) {
	if item.frame == nil {
		return false, nil
	}
	name, err := t.files.begin(item.path, item.ext)
	if err != nil {
		return false, err
	}
	return true, item.copyFrame(ctx, name)
}

func (t *frameTarget) create(item *treeItem) (ndarray.Backend, error) {
	name, err := t.files.begin(item.path, b2store.ArrayExt)
	if err != nil {
		return nil, err
	}
	return b2nd.Create(name, *item.spec, &b2nd.CreateOptions{Name: item.path})
}

func (t *frameTarget) finish(_ context.Context, item *treeItem) error {
	return t.files.finish(item.path, item.extension())
}

func (t *frameTarget) remove(item *treeItem) error {
	return t.files.drop(item.path, item.extension())
}

// extension returns the extension of the file of an array in a store.
func (item *treeItem) extension() string {
	if item.frame != nil {
		return item.ext
	}
	return b2store.ArrayExt
}

// copyFrame copies the frame of an item to a new file.
func (item *treeItem) copyFrame(ctx context.Context, file string) (err error) {
	f, err := item.frame()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, urlfile.Reader(ctx, io.NewSectionReader(f, 0, f.Size)))
	return errors.Join(err, out.Close())
}

// arrayFiles are the files of a directory of arrays.
type arrayFiles string

func (d arrayFiles) begin(key, _ string) (string, error) { return place(string(d), key, false) }
func (d arrayFiles) finish(string, string) error         { return nil }

func (d arrayFiles) drop(key, ext string) error {
	name, err := d.begin(key, ext)
	if err != nil {
		return err
	}
	return os.RemoveAll(name)
}

// place returns the path of an object of a tree in a directory.
func place(dir, path string, group bool) (string, error) {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, name := range parts {
		file, err := directories.FileName(name, group || i < len(parts)-1)
		if err != nil {
			return "", err
		}
		dir = filepath.Join(dir, file)
	}
	return dir, nil
}
