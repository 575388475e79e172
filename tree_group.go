// CopyTree to a group of a container of python-blosc2.

package hyperslab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// setTarget sets the file, its format, and the group in it. It opens an existing container.
func (c *treeCopy) setTarget(ctx context.Context, dst string) error {
	c.file = dst
	if l, err := locate.Parse(dst); err == nil && strings.Trim(l.Object, "/") != "" {
		if f, ok := forName(l.File); ok && isStore(f) || regularfile.Exists(l.File) {
			c.file, c.group = l.File, groupPath(l)
		}
	}
	named, known := forName(c.file)
	if known {
		c.target = named
	}
	switch f := c.options.Format; {
	case f == "":
	case isStore(f) && (!known || named == f):
		c.target = f
	default:
		return fmt.Errorf("%w: format of a tree: got %s in a %s, want the format of a container", ndarray.ErrParam, f, c.target)
	}
	if c.table() && (c.target != B2Z && c.target != B2D || c.group != "") {
		return fmt.Errorf("%w: a table in %s: got format %s, want a whole %s or %s", ndarray.ErrParam, dst, c.target, B2Z, B2D)
	}
	if c.group == "" {
		return nil
	}
	exists := regularfile.Exists(c.file)
	if exists {
		f, err := Sniff(c.file)
		if err != nil {
			return err
		}
		c.target = f
	}
	if !isStore(c.target) {
		return fmt.Errorf("%w: a tree in a group of a file of format %s", errors.ErrUnsupported, c.target)
	}
	if err := b2store.CheckKey(c.group); err != nil {
		return err
	}
	c.at = c.group
	if !exists {
		return nil
	}
	if !c.options.DryRun {
		var err error
		if c.lock, err = lockTo(ctx, c.options.Lock, c.file); err != nil {
			return err
		}
	}
	s, err := stores.Open(c.file, string(c.target), stores.Options{})
	if err != nil {
		return err
	}
	c.old = s
	if c.target == B2D {
		c.at = "/"
	}
	err = s.CheckGroup(c.group, c.options.Overwrite)
	if err != nil {
		c.old = nil
		err = errors.Join(err, s.Close())
	}
	return err
}

// key returns the key of a path of the target.
func (c *treeCopy) key(at string) string {
	if c.inDirectory() {
		return below(c.group, at)
	}
	return at
}

// below returns the path of an object below a group. The name may be ".", therefore the path is not
// cleaned.
func below(group, at string) string {
	at = strings.Trim(at, "/")
	if at == "" {
		return group
	}
	return strings.TrimSuffix(group, "/") + "/" + at
}

// inDirectory reports whether the target is a new directory in an existing .b2d.
func (c *treeCopy) inDirectory() bool { return c.old != nil && c.target == B2D }

// output starts the new file or directory.
func (c *treeCopy) output(ctx context.Context) (*atomicfile.Output, error) {
	lock := cmp.Or(c.lock, c.options.Lock)
	file, o := c.file, atomicfile.Options{Overwrite: c.options.Overwrite || c.old != nil, Lock: lock}
	if c.inDirectory() {
		file, o = filepath.Join(file, filepath.FromSlash(c.group)), atomicfile.Options{Overwrite: c.options.Overwrite, Around: lock.Share()}
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return nil, errors.Join(err, o.Around.Release())
		}
	}
	return atomicfile.Create(ctx, file, o)
}

// planOld plans the byte for byte copy of the objects of an existing .b2z or .b2e, except those in
// the group.
func (c *treeCopy) planOld() error {
	if c.old == nil || c.inDirectory() {
		return nil
	}
	if others := c.old.Others(); len(others) > 0 {
		return fmt.Errorf("%w: writing %s again without its file %s, which is no object", errors.ErrUnsupported, c.file, others[0])
	}
	for x := range c.old.All() {
		if x.Key == c.group || strings.HasPrefix(x.Key, c.group+"/") {
			continue
		}
		f, err := c.old.Frame(x)
		if err != nil {
			return fmt.Errorf("%s in %s: %w", x.Key, c.file, err)
		}
		h, err := cframe.ReadHeader(f, f.Size, cframe.DefaultLimits())
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s in %s: %w", x.Key, c.file, format.Part(err))
		}
		item := treeItem{path: x.Key, ext: path.Ext(x.Member.Name), bytes: f.Size}
		if item.ext == "" {
			item.ext = stores.Extension(h)
		}
		item.frame = func() (*stores.Frame, error) { return c.old.Frame(x) }
		c.arrays = append(c.arrays, item)
		c.stats.Bytes += item.bytes
	}
	return nil
}

// register adds the new tables to the registry of an existing .b2d, and removes the objects that
// the group replaces. python-blosc2 searches for tables only if a store has no registry.
func (c *treeCopy) register(ctx context.Context) error {
	file := filepath.Join(c.file, b2store.EmbedFile)
	f, err := cblosc.OpenSChunkWith(file, cblosc.OpenOptions{ReadOnly: true})
	if err != nil {
		return format.Part(err)
	}
	content, err := f.VLMeta().Get(b2store.Registry)
	err = errors.Join(err, f.Close())
	if errors.Is(err, cblosc.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := msgpack.Parse(content)
	if err != nil {
		return err
	}
	old, _ := v.(msgpack.Map)
	if len(old) == 0 {
		return nil
	}
	var all msgpack.Map
	for _, p := range old {
		if key, _ := p.Key.(string); key != c.group && !strings.HasPrefix(key, c.group+"/") {
			all = append(all, p)
		}
	}
	kept := len(all)
	for _, item := range c.arrays {
		if path.Base(item.path) == b2store.TableMeta {
			all = append(all, msgpack.Pair{Key: c.key(path.Dir(item.path)), Value: msgpack.Map{
				{Key: "kind", Value: "ctable"}, {Key: "version", Value: int64(1)}, {Key: "layout", Value: "inline-tree-subtree"},
			}})
		}
	}
	if kept == len(old) && kept == len(all) {
		return nil
	}
	lock, err := filelock.Acquire(ctx, file, &filelock.Options{Inside: true})
	if err != nil {
		return err
	}
	err = update(ctx, file, lock, func(name string) error {
		f, err := cblosc.OpenSChunk(name)
		if err != nil {
			return err
		}
		return errors.Join(f.VLMeta().Update(b2store.Registry, msgpack.Append(nil, all)), f.Close())
	})
	return errors.Join(err, lock.Release())
}
