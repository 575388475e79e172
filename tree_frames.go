// Frames that CopyTree copies byte for byte: Python objects, plain frames, and the parts of tables.

package hyperslab

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

// sourceFrame opens the frame at a path of the source and returns the extension of its file. The
// frame is nil if the source is not a tree of frames, or if it is untrusted and therefore read by
// workers only.
func (c *treeCopy) sourceFrame(at string) (*stores.Frame, string, error) {
	if s := c.source.store; s != nil {
		x, err := s.Object(at)
		if err != nil || x.Table != nil || x.Kind != "" || x.Embedded.Remote != "" {
			return nil, "", nil // opening the array returns the reason
		}
		f, err := s.Frame(x)
		return f, path.Ext(x.Member.Name), err
	}
	if c.source.Format != Directory || c.source.outside != nil {
		return nil, "", nil
	}
	l := locate.Location{File: c.source.location.File, Object: at}
	if _, ok := bcolzIn(l); ok {
		return nil, "", nil
	}
	file, err := arrayFile(l)
	if err != nil {
		return nil, "", err
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, "", err // a sparse frame
	}
	f, err := stores.OpenFrame(file)
	return f, filepath.Ext(file), err
}

// planFrame plans the copy of a frame that is not a b2nd or Caterva array. It reports whether it
// did.
func (c *treeCopy) planFrame(item treeItem) (planned bool, err error) {
	if !c.frames() || c.table() {
		return false, nil
	}
	f, ext, err := c.sourceFrame(item.from)
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
		f, _, err := c.sourceFrame(item.from)
		return f, err
	}
	item.bytes = f.Size
	c.addArray(item)
	c.stats.Attrs += item.entry.Attrs
	return true, nil
}

// planTable plans the copy of all parts of a CTable, with its deleted rows. It reports whether it
// did: not for a target that is no store of files, or if one of the columns is left out.
func (c *treeCopy) planTable(item treeItem) bool {
	s := c.source.store
	if s == nil || c.target != B2Z && c.target != B2D || c.table() {
		return false
	}
	t := s.Table(item.from)
	if t == nil {
		return false
	}
	for _, column := range t.Columns {
		if c.options.Exclude != nil && c.options.Exclude(path.Join(item.from, column.Path)) {
			return false
		}
	}
	for key, x := range t.Parts() {
		part := treeItem{from: path.Join(item.from, key), path: path.Join(item.path, key), ext: path.Ext(x.Member.Name)}
		if part.ext == "" { // embedded
			part.ext = b2store.ArrayExt
			if name := path.Base(key); name == b2store.TableMeta || key == b2store.TableAttrs {
				part.ext = b2store.FrameExt
			}
		}
		part.frame = func() (*stores.Frame, error) { return s.Frame(x) }
		part.bytes = max(x.Member.Size, x.Embedded.Length)
		c.arrays = append(c.arrays, part)
		c.stats.Bytes += part.bytes
	}
	c.stats.Groups++
	c.stats.Arrays += len(t.Columns)
	c.stats.Attrs += item.entry.Attrs
	c.whole = append(c.whole, item.from)
	return true
}

// inWhole reports whether a path is in a group that is copied as a whole.
func (c *treeCopy) inWhole(at string) bool {
	for _, group := range c.whole {
		if strings.HasPrefix(at, strings.TrimSuffix(group, "/")+"/") && at != group {
			return true
		}
	}
	return false
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

// framesTo sets write of the items that are frames. create returns the file to write, and finish is
// called after it is complete.
func (c *treeCopy) framesTo(create func(item treeItem) (string, error), finish func(item treeItem) error) {
	for i := range c.arrays {
		item := &c.arrays[i]
		if item.frame == nil {
			continue
		}
		item.write = func(ctx context.Context) error {
			file, err := create(*item)
			if err == nil {
				err = item.copyFrame(ctx, file)
			}
			if err == nil && finish != nil {
				err = finish(*item)
			}
			return err
		}
	}
}
