// Tree: a file whose objects are opened one by one, trusted or untrusted.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Tree is a file, or a group in it, whose objects are listed and opened one by one. For an
// untrusted file one worker serves all objects, after it has checked the file once.
//
// Any number of goroutines may use a Tree and its arrays. The arrays must be closed before the
// Tree. For an untrusted tree the worker holds only one array open at a time, so reading several
// arrays alternately is slow.
type Tree struct {
	Format Format // of the file; B2ND for a Caterva array. It must not be changed.

	location locate.Location
	outside  *outside    // nil: the file is trusted
	open     OpenOptions // for opening its arrays

	// A trusted file stays open: as one of these, or as none of them if it is a directory or a URL.
	store  *stores.Store // a container of python-blosc2
	file   *h5.File      // an HDF5 file
	single openFile      // a file that is one array

	byGo bool // libhdf5 does not decode chunks of file that package chunkio decodes

	// The group of file in which the last array was opened. libhdf5 finds a name in an open group
	// faster than a path in the file.
	parent struct {
		sync.Mutex
		path  string
		group *h5.Group
	}
}

// OpenTree returns the tree at a location. It uses o.ExternalDir, o.Metadata, o.Missing,
// o.Unlocked and o.Untrusted, and returns ndarray.ErrParam if another option is set. It returns the
// errors of Walk for the file. A file stays open until Close. Until then an HDF5 file is locked:
// other processes can open it for reading only.
func OpenTree(ctx context.Context, location string, o *OpenOptions) (_ *Tree, err error) {
	opts := orZero(o)
	if opts.Untrusted != nil {
		x, err := newOutside(ctx, location, opts)
		if err != nil {
			return nil, ndarray.Wrap("open untrusted", shown(location), err)
		}
		return &Tree{location: locate.Location{File: x.file, Object: x.s.Object}, Format: x.s.Format, outside: x}, nil
	}
	if opts.DType != nil || opts.Write || opts.Durable || opts.Library || opts.Shards != nil {
		return nil, ndarray.Wrap("open", shown(location), fmt.Errorf("%w: OpenOptions.DType, Write, Durable, Library and Shards are for Open", ndarray.ErrParam))
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	f, format, err := openSniffed(ctx, l.File)
	if err != nil {
		return nil, ndarray.Wrap("open", shown(location), err)
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := ctx.Err(); err != nil {
		return nil, ndarray.Wrap("open", shown(location), err)
	}
	t := &Tree{location: l, Format: format, open: opts}
	switch {
	case isStore(format):
		if t.store, err = f.store(ctx, l.File, format); err != nil {
			return nil, ndarray.Wrap("open", shown(location), err)
		}
	case format == HDF5:
		t.byGo = isURL(l.File) // as in Open
		if t.file, err = f.hdf5(context.WithoutCancel(ctx), l.File, opts.Unlocked); err != nil {
			return nil, ndarray.Wrap("open", shown(location), err)
		}
	default:
		t.single = openFile{f.release(), true}
	}
	return t, nil
}

// at returns the location of a path for messages.
func (t *Tree) at(path string) string {
	if strings.Trim(path, "/") == "" && t.Format != HDF5 {
		path = ""
	}
	return locate.Location{File: t.location.File, Object: path}.String()
}

// Walk yields the object at the location and the objects below it, like Walk of the package. The
// options Unlocked and Untrusted are those of OpenTree. An untrusted tree supports one walk at a
// time: a walk ends with ErrParam if another one begins.
func (t *Tree) Walk(ctx context.Context, o *WalkOptions) iter.Seq2[Entry, error] {
	opts := orZero(o)
	if t.outside == nil {
		return walkTrusted(ctx, t.location.String(), WalkOptions{Prune: opts.Prune, NoSizes: opts.NoSizes}, t, false)
	}
	return func(yield func(Entry, error) bool) {
		left := false
		err := t.outside.walk(ctx, opts.Prune, func(e Entry, err error) bool {
			if opts.NoSizes {
				e.unmeasure()
			}
			left = !yield(e, err)
			return !left
		})
		if err != nil && !left {
			yield(Entry{}, ndarray.Wrap("list untrusted", shown(t.location.String()), err))
		}
	}
}

// GroupAttrs reads the attributes of the group at a path of an HDF5 file, a bcolz ctable, a
// directory of arrays or a container of python-blosc2.
//
// It returns ndarray.ErrNotFound for a missing path, ErrParam if the path is that of an array, or
// ErrCorrupt; for an untrusted file also the errors of Open.
func (t *Tree) GroupAttrs(ctx context.Context, path string) (attrs ndarray.Attrs, err error) {
	if t.store != nil {
		w := walker{ctx: ctx, store: t.store}
		attrs, err = w.storedGroupAttrs(locate.Location{File: t.location.File, Object: path}, t.Format)
		return attrs, ndarray.Wrap("read attributes of", shown(t.at(path)), errors.Join(err, ctx.Err()))
	}
	if t.file != nil {
		attrs, err = t.heldGroupAttrs(ctx, path)
		return attrs, ndarray.Wrap("read attributes of", shown(t.at(path)), err)
	}
	if t.outside == nil {
		l := locate.Location{File: t.location.File, Object: path}
		w := &walker{ctx: ctx}
		if err = errors.Join(ctx.Err(), w.mayBeGroup(l, t.Format)); err == nil {
			attrs, err = w.groupAttrs(l, t.Format)
		}
		return attrs, ndarray.Wrap("read attributes of", shown(t.at(path)), err)
	}
	attrs, err = t.outside.attrs(ctx, path)
	return attrs, ndarray.Wrap("read attributes of untrusted", shown(t.at(path)), err)
}

// Open opens the array at a path of the file, for reading. It returns the errors of
// Open of the package.
func (t *Tree) Open(ctx context.Context, path string) (*ndarray.Array, error) {
	if t.store != nil {
		a, err := t.openStored(ctx, path)
		return a, ndarray.Wrap("open", shown(t.at(path)), err)
	}
	if t.file != nil {
		a, err := t.openHeld(ctx, path, t.byGo)
		return a, ndarray.Wrap("open", shown(t.at(path)), err)
	}
	if t.outside == nil {
		a, err := t.openOther(ctx, path)
		return a, ndarray.Wrap("open", shown(t.at(path)), err)
	}
	a, err := t.outside.open(ctx, path)
	return a, ndarray.Wrap("open untrusted", shown(t.at(path)), err)
}

// openComplete is Open for an array whose attributes with references are read too.
func (t *Tree) openComplete(ctx context.Context, path string) (*ndarray.Array, error) {
	if t.file == nil {
		return t.Open(ctx, path)
	}
	a, err := t.openHeld(ctx, path, false)
	return a, ndarray.Wrap("open", shown(t.at(path)), err)
}

// openOther opens an array of a trusted file of another format than those of openStored and
// openHeld.
func (t *Tree) openOther(ctx context.Context, path string) (_ *ndarray.Array, err error) {
	if t.single.file == nil {
		return open(ctx, t.at(path), t.open)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := locate.Parse(t.at(path))
	if err != nil {
		return nil, err
	}
	f := t.single
	return f.array(ctx, l, t.Format, t.open)
}

// openStored opens an array of the open store.
func (t *Tree) openStored(ctx context.Context, path string) (*ndarray.Array, error) {
	l := locate.Location{File: t.location.File, Object: path}
	if err := errors.Join(ctx.Err(), checkObject(t.Format, l)); err != nil {
		return nil, err
	}
	m, err := openMember(t.store, groupPath(l), shown(l.String()), &b2nd.OpenOptions{Metadata: t.open.Metadata})
	if err != nil {
		return nil, err
	}
	return array(m, nil)
}

// openHeld opens an array of the HDF5 file that is open. If byGo is set, libhdf5 does not decode
// chunks that package chunkio decodes.
func (t *Tree) openHeld(ctx context.Context, path string, byGo bool) (*ndarray.Array, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := &hdf5.OpenOptions{ExternalDir: t.open.ExternalDir, Missing: t.open.Missing, Shared: true, Untrusted: byGo}
	name := shown(t.at(path))
	var a *ndarray.Array
	err := t.within(path, func(g *h5.Group, in string) (err error) {
		a, err = array(hdf5.OpenIn(g, in, name, o))
		return err
	})
	return a, err
}

// within calls use with a group of the HDF5 file that is open, and the path of an object in it. The
// group is the object's parent, unless another goroutine uses this or the parent cannot be opened.
func (t *Tree) within(path string, use func(g *h5.Group, in string) error) (err error) {
	p := &t.parent
	path = "/" + strings.Trim(path, "/")
	if !p.TryLock() {
		return use(t.file.Root(), path)
	}
	defer p.Unlock()
	end := strings.LastIndexByte(path, '/') + 1
	dir := path[:end]
	if p.group != nil && dir == p.path {
		return use(p.group, path[end:])
	}
	from, below := t.file.Root(), dir
	if p.group != nil && strings.HasPrefix(dir, p.path) { // the cost of a path grows with its length
		from, below = p.group, dir[len(p.path):]
	}
	g, err := from.OpenGroup(below)
	if err != nil { // the error of use names the object
		return use(t.file.Root(), path)
	}
	if p.group != nil {
		err = p.group.Close()
	}
	if p.path, p.group = dir, g; err != nil {
		return err
	}
	return use(g, path[end:])
}

// heldGroupAttrs reads the attributes of a group of the HDF5 file that is open.
func (t *Tree) heldGroupAttrs(ctx context.Context, path string) (attrs ndarray.Attrs, err error) {
	if err := ctx.Err(); err != nil {
		return attrs, err
	}
	err = t.within(path, func(g *h5.Group, in string) (err error) {
		attrs, err = hdf5GroupAttrs(ctx, g, in)
		return err
	})
	return attrs, err
}

// hdf5GroupAttrs reads the attributes of the group at a path in another one; "" is that group.
func hdf5GroupAttrs(ctx context.Context, g *h5.Group, path string) (attrs ndarray.Attrs, err error) {
	if path != "" {
		if g, err = g.OpenGroup(path); err != nil {
			return attrs, err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	return hdf5.ReadAttrs(ctx, g)
}

// Close ends the worker of an untrusted tree, and closes an HDF5 file or a container of
// python-blosc2.
func (t *Tree) Close() error {
	if t.store != nil {
		return t.store.Close()
	}
	if t.file != nil {
		return t.file.Close() // and its groups
	}
	if t.single.file != nil {
		return t.single.file.Close()
	}
	if t.outside == nil {
		return nil
	}
	return t.outside.close()
}
