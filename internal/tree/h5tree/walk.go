// Listing of a file.

package h5tree

import (
	"context"
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/internal/tree"
)

// Walk visits the object at a path and those below it.
func (t *file) Walk(ctx context.Context, path string, o *tree.WalkOptions, visit tree.Visit) error {
	f, err := t.held(ctx)
	if err != nil {
		return err
	}
	detail := h5walk.Sizes
	switch {
	case o != nil && o.Names:
		detail = h5walk.Names
	case o != nil && o.NoSizes:
		detail = h5walk.NoSizes
	}
	visit = tree.Visitor(ctx, o, visit)
	return h5walk.Walk(f, t.s.Name, tree.Root(path), detail, func(x h5walk.Object) (bool, error) { return visit(Entry(x)) })
}

// Entry returns the entry of an object.
func Entry(o h5walk.Object) tree.Entry {
	e := tree.Entry{Path: o.Path, Kind: tree.Other, Attrs: o.Info.NumAttrs, Comment: o.Comment, Type: o.Type, Err: o.Err}
	if l := o.Link; l != nil {
		e.Kind, e.LinkKind, e.Target = tree.Link, l.Kind.String(), l.Target
		switch l.Kind {
		case h5.HardLink:
			e.Target = o.First
		case h5.ExternalLink:
			e.TargetFile = l.File
			e.Target = l.File + ":" + l.Target
		case h5.UserLink:
			e.Target = fmt.Sprintf("link class %d", l.Class)
		}
		return e
	}
	switch o.Info.Kind {
	case h5.GroupObject:
		e.Kind = tree.Group
	case h5.DatasetObject:
		e.Kind = tree.Array
		e.Meta, e.Storage, e.Type = o.Dataset.Meta, o.Dataset.Storage, o.Dataset.Type
	case h5.DatatypeObject:
		e.Kind = tree.Type
	}
	return e
}
