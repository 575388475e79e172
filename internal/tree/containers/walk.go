// Listing of a store.

package containers

import (
	"context"
	"path"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Walk visits the object at a path and those below it.
func (t *store) Walk(ctx context.Context, at string, o *tree.WalkOptions, visit tree.Visit) error {
	if err := t.s.Ready(ctx); err != nil {
		return err
	}
	w := &walk{t, ctx, tree.Visitor(ctx, o, visit)}
	key := tree.Root(at)
	if _, ok := t.open.Members(key); ok {
		return w.group(key)
	}
	if _, err := t.open.Object(key); err != nil {
		return err
	}
	return w.array(key)
}

// walk is one walk.
type walk struct {
	*store
	ctx   context.Context
	visit tree.Visit
}

// group visits a group and its members.
func (w *walk) group(key string) error {
	e := tree.Entry{Path: key, Kind: tree.Group}
	attrs, err := groupAttrs(w.ctx, w.open, w.s.Name, key)
	e.Attrs, e.Err = len(attrs.List)+len(attrs.Unsupported), err
	if t := w.open.Table(key); t != nil {
		e.Type = Table
		if e.Err == nil && t.Err != nil {
			e.Err = ndarray.Wrap("open", w.s.At(key), t.Err)
		}
	}
	if descend, err := w.visit(e); !descend || err != nil {
		return err
	}
	names, _ := w.open.Members(key)
	for _, name := range names {
		at := path.Join(key, name)
		if _, group := w.open.Members(at); group {
			err = w.group(at)
		} else {
			err = w.array(at)
		}
		if err != nil {
			return err
		}
	}
	if key != "/" {
		return nil
	}
	for _, name := range w.open.Others() {
		if err := w.visit.Leaf(tree.Entry{Path: "/" + name, Kind: tree.Other, Type: "file"}); err != nil {
			return err
		}
	}
	return nil
}

// array visits an array. An array that cannot be opened is an entry with an error.
func (w *walk) array(key string) error {
	name, listing := w.s.At(key), frames.Listing()
	m, err := openMember(w.open, key, name, &listing)
	if err != nil {
		return w.visit.Leaf(tree.Entry{Path: key, Kind: tree.Array, Err: ndarray.Wrap("open", name, err)})
	}
	e, err := tree.DescribeFrame(w.ctx, name, key, m)
	if err != nil {
		return w.visit.Leaf(tree.Entry{Path: key, Kind: tree.Array, Err: err})
	}
	return w.visit.Leaf(e)
}
