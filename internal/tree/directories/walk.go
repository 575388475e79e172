// Listing of a directory.

package directories

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
)

// Walk visits the group or array at a path and the objects below it.
func (d *directory) Walk(ctx context.Context, at string, o *tree.WalkOptions, visit tree.Visit) error {
	if err := d.s.Ready(ctx); err != nil {
		return err
	}
	files, err := d.s.Files(ctx)
	if err != nil {
		return err
	}
	w := &walk{directory: d, files: files, ctx: ctx, options: o}
	w.visit = tree.Visitor(ctx, o, func(e tree.Entry) (bool, error) {
		w.count++
		return visit(e)
	})
	object := strings.Trim(at, "/")
	if object == "" {
		return w.group(".", "/")
	}
	if file, err := arrayFile(files, at); err == nil {
		return w.member(file, detect.B2ND, "/"+object, "")
	}
	if in, rest, ok := inBcolz(files, at); ok {
		at := strings.TrimSuffix(strings.TrimSuffix("/"+object, rest), "/")
		return w.member(in, detect.Bcolz, at, rest)
	}
	dir, err := groupDir(files, at)
	if err != nil {
		return err
	}
	return w.group(dir, "/"+object)
}

// walk is one walk.
type walk struct {
	*directory
	files   fs.FS
	ctx     context.Context
	options *tree.WalkOptions
	visit   tree.Visit
	count   int // visited entries
}

// member visits the objects of a frame or a directory of bcolz, from a path in it on. at is its
// path in the tree. If it cannot be opened, it is an entry with an error.
func (w *walk) member(file, format, at, from string) error {
	before := w.count
	t, err := w.directory.member(w.ctx, file, format)
	if err == nil {
		err = t.Walk(w.ctx, from, w.options, func(e tree.Entry) (bool, error) {
			e.Path = at + strings.TrimSuffix(e.Path, "/")
			return w.visit(e)
		})
		err = errors.Join(err, t.Close())
	}
	if err == nil || w.count > before || w.ctx.Err() != nil {
		return err
	}
	return w.visit.Leaf(tree.Entry{Path: at, Kind: tree.Array, Err: err})
}

// group visits a group, whose directory is dir, and its members.
func (w *walk) group(dir, at string) error {
	entries, err := fs.ReadDir(w.files, dir)
	if err != nil {
		return err
	}
	e := tree.Entry{Path: at, Kind: tree.Group}
	attrs, err := w.attrs(w.ctx, w.files, dir)
	e.Attrs, e.Err = len(attrs.List)+len(attrs.Unsupported), err
	if descend, err := w.visit(e); !descend || err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(entryName(a.Name()), entryName(b.Name())) })
	for _, x := range entries {
		if err := w.entry(x, path.Join(dir, x.Name()), strings.TrimSuffix(at, "/")+"/"); err != nil {
			return err
		}
	}
	return nil
}

// entry visits a member of a directory and the objects below it. under is the path of the group
// with a slash at its end.
func (w *walk) entry(x fs.DirEntry, file, under string) error {
	name := x.Name()
	array := under + entryName(strings.TrimSuffix(name, detect.ArrayExt))
	info, err := fs.Stat(w.files, file)
	switch {
	case x.Type()&fs.ModeSymlink != 0: // visited but not followed, because it may lead to a cycle
		target, err := fs.ReadLink(w.files, file)
		if err != nil && !errors.Is(err, syscall.EINVAL) { // a worker cannot read links: the target is ""
			return err
		}
		return w.visit.Leaf(tree.Entry{Path: array, Kind: tree.Link, LinkKind: "symbolic", Target: target})
	case err == nil && name == groupFile:
		return nil
	case err == nil && strings.HasSuffix(name, detect.ArrayExt):
		return w.member(file, detect.B2ND, array, "")
	case err == nil && info.IsDir() && isBcolz(w.files, file):
		return w.member(file, detect.Bcolz, under+entryName(name), "")
	case err == nil && info.IsDir():
		return w.group(file, under+entryName(name))
	}
	return w.visit.Leaf(tree.Entry{Path: under + entryName(name), Kind: tree.Other, Err: err})
}
