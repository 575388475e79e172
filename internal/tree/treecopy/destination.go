// The location that a copy is written to: a new file or directory, or a group of a container of
// python-blosc2.

package treecopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/draft"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// destination is the file and the group that a copy writes.
type destination struct {
	format string
	file   string        // to write
	group  string        // the new group of a container; "" for a whole file
	at     string        // path of the source's root in the file, or in the directory of the group
	old    *stores.Store // the existing container with the group; nil: none
	lock   *ndarray.Lock // of that container
	held   *ndarray.Lock // Options.Lock
}

// newDestination returns the destination for a location. It opens and locks an existing container.
// The caller closes the destination, also after an error.
func newDestination(ctx context.Context, dst string, o *Options) (*destination, error) {
	d := &destination{format: detect.Directory, file: dst, at: "/", held: o.Lock}
	if l, err := locate.Parse(dst); err == nil && strings.Trim(l.Object, "/") != "" {
		if f, ok := detect.Name(l.File); ok && detect.IsStore(f) || regularfile.Exists(l.File) {
			d.file, d.group = l.File, tree.Root(l.Object)
		}
	}
	named, known := detect.Name(d.file)
	if known {
		d.format = named
	}
	switch f := o.Format; {
	case f == "":
	case detect.IsStore(f) && (!known || named == f):
		d.format = f
	default:
		return d, fmt.Errorf("%w: format of a tree: got %s in a %s, want the format of a container", ndarray.ErrParam, f, d.format)
	}
	if o.Table && (d.format != detect.B2Z && d.format != detect.B2D || d.group != "") {
		return d, fmt.Errorf("%w: a table in %s: got format %s, want a whole %s or %s", ndarray.ErrParam, dst, d.format, detect.B2Z, detect.B2D)
	}
	if d.group == "" {
		return d, nil
	}
	return d, d.openOld(ctx, o)
}

// openOld opens and locks the existing container with the group.
func (d *destination) openOld(ctx context.Context, o *Options) (err error) {
	exists := regularfile.Exists(d.file)
	if exists {
		if d.format, err = detect.Content(d.file); err != nil {
			return ndarray.Wrap("look at", d.file, err)
		}
	}
	if !detect.IsStore(d.format) {
		return fmt.Errorf("%w: a tree in a group of a file of format %s", errors.ErrUnsupported, d.format)
	}
	if err := b2store.CheckKey(d.group); err != nil {
		return err
	}
	d.at = d.group
	if !exists {
		return nil
	}
	if !o.DryRun {
		if d.lock, err = draft.LockTo(ctx, o.Lock, d.file); err != nil {
			return err
		}
	}
	if d.old, err = stores.Open(d.file, d.format, stores.Options{}); err != nil {
		return err
	}
	if d.format == detect.B2D {
		d.at = "/"
	}
	return d.old.CheckGroup(d.group, o.Overwrite)
}

// close closes and unlocks the existing container.
func (d *destination) close() (err error) {
	if d.old != nil {
		err = d.old.Close()
	}
	return errors.Join(err, d.lock.Release())
}

// Key returns the key of a path of the target.
func (d *destination) Key(at string) string {
	if d.InDirectory() {
		return below(d.group, at)
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

// InDirectory reports whether the target is a new directory in an existing .b2d.
func (d *destination) InDirectory() bool { return d.old != nil && d.format == detect.B2D }

// output starts the new file or directory.
func (d *destination) output(ctx context.Context, overwrite bool) (*atomicfile.Output, error) {
	lock := cmp.Or(d.lock, d.held)
	file, o := d.file, atomicfile.Options{Overwrite: overwrite || d.old != nil, Lock: lock}
	if d.InDirectory() {
		file, o = filepath.Join(file, filepath.FromSlash(d.group)), atomicfile.Options{Overwrite: overwrite, Around: lock.Share()}
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return nil, errors.Join(err, o.Around.Release())
		}
	}
	return atomicfile.Create(ctx, file, o)
}

// others yields the objects of an existing .b2z or .b2e, except those in the group. They are copied
// byte for byte.
func (d *destination) others() iter.Seq2[*tree.Item, error] {
	return func(yield func(*tree.Item, error) bool) {
		if d.old == nil || d.InDirectory() {
			return
		}
		if others := d.old.Others(); len(others) > 0 {
			yield(nil, fmt.Errorf("%w: writing %s again without its file %s, which is no object", errors.ErrUnsupported, d.file, others[0]))
			return
		}
		for x := range d.old.All() {
			if d.inGroup(x.Key) {
				continue
			}
			item, err := d.other(x)
			if err != nil {
				err = fmt.Errorf("%s in %s: %w", x.Key, d.file, err)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// inGroup reports whether a key is that of the new group, or below it.
func (d *destination) inGroup(key string) bool {
	return key == d.group || strings.HasPrefix(key, d.group+"/")
}

// other returns the item that copies an object of the existing container.
func (d *destination) other(x *stores.Object) (*tree.Item, error) {
	f, err := d.old.Frame(x)
	if err != nil {
		return nil, err
	}
	h, err := cframe.ReadHeader(f, f.Size, cframe.DefaultLimits())
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, format.Part(err)
	}
	item := &tree.Item{Path: x.Key, Ext: path.Ext(x.Member.Name), Bytes: f.Size}
	if item.Ext == "" {
		item.Ext = stores.Extension(h)
	}
	item.Frame = func() (*stores.Frame, error) { return d.old.Frame(x) }
	return item, nil
}

// register adds new tables to the registry of an existing .b2d, and removes the objects that the
// group replaces. python-blosc2 searches for tables only if a store has no registry.
func (d *destination) register(ctx context.Context, tables []string) error {
	file := filepath.Join(d.file, b2store.EmbedFile)
	old, err := readRegistry(file)
	if err != nil || len(old) == 0 {
		return err
	}
	var all msgpack.Map
	for _, p := range old {
		if key, _ := p.Key.(string); !d.inGroup(key) {
			all = append(all, p)
		}
	}
	if len(all) == len(old) && len(tables) == 0 {
		return nil
	}
	for _, at := range tables {
		all = append(all, msgpack.Pair{Key: d.Key(at), Value: msgpack.Map{
			{Key: "kind", Value: "ctable"}, {Key: "version", Value: int64(1)}, {Key: "layout", Value: "inline-tree-subtree"},
		}})
	}
	lock, err := filelock.Acquire(ctx, file, &filelock.Options{Inside: true})
	if err != nil {
		return err
	}
	err = draft.Update(ctx, file, lock, func(name string) error {
		f, err := cblosc.OpenSChunk(name)
		if err != nil {
			return err
		}
		return errors.Join(f.VLMeta().Update(b2store.Registry, msgpack.Append(nil, all)), f.Close())
	})
	return errors.Join(err, lock.Release())
}

// readRegistry reads the registry of the tables of a .b2d. It is empty if the store has none.
func readRegistry(file string) (msgpack.Map, error) {
	f, err := cblosc.OpenSChunkWith(file, cblosc.OpenOptions{ReadOnly: true})
	if err != nil {
		return nil, format.Part(err)
	}
	content, err := f.VLMeta().Get(b2store.Registry)
	err = errors.Join(err, f.Close())
	if errors.Is(err, cblosc.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := msgpack.Parse(content)
	if err != nil {
		return nil, err
	}
	tables, _ := v.(msgpack.Map)
	return tables, nil
}
