// Tree: an open tree with its location.

package opened

import (
	"context"
	"errors"
	"iter"
	"log/slog"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/containers"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Tree is an open file, or a group in it, with the location at which it was opened. The methods
// All, Array, GroupAttrs and Metadata return errors in an *ndarray.Error with the location.
type Tree struct {
	tree.Tree
	Format    string // of the file; detect.B2ND for a Caterva array
	Location  locate.Location
	Untrusted bool

	Arrays tree.ArrayOptions // for Array
	Logger *slog.Logger      // of arrays; may be nil
}

var _ tree.Tree = (*Tree)(nil)

// Unwrap returns the tree without the location.
func (t *Tree) Unwrap() tree.Tree { return t.Tree }

// wrap adds an operation and the name of an object to an error.
func (t *Tree) wrap(op, name string, err error) error {
	if t.Untrusted {
		op += " untrusted"
	}
	return ndarray.Wrap(op, urlfile.Redact(name), err)
}

// at returns the location of a path for messages.
func (t *Tree) at(path string) string {
	if tree.IsRoot(path) && t.Format != detect.HDF5 {
		path = ""
	}
	return locate.Location{File: t.Location.File, Object: path}.String()
}

// WalkOptions are the options of Tree.All.
type WalkOptions struct {
	Prune   func(tree.Entry) bool // reports whether the members of a group are skipped; nil: none are
	NoSizes bool                  // as in tree.WalkOptions
	Names   bool                  // as in tree.WalkOptions
}

// All yields the object at the location and the objects below it, and at the end the error of the
// walk, if it has one.
func (t *Tree) All(ctx context.Context, o WalkOptions) iter.Seq2[tree.Entry, error] {
	return func(yield func(tree.Entry, error) bool) {
		going, err := each(ctx, t.Tree, t.Location.Object, o, func(e tree.Entry) bool { return yield(e, nil) })
		if going && err != nil {
			yield(tree.Entry{}, t.wrap("list", t.Location.String(), err))
		}
	}
}

// errStop ends a walk after the caller has left the loop.
var errStop = errors.New("the iteration was stopped")

// each calls yield for the entries of a tree from a path on, until yield returns false. Then going
// is false.
func each(ctx context.Context, t tree.Tree, path string, o WalkOptions, yield func(tree.Entry) bool) (going bool, err error) {
	err = t.Walk(ctx, path, &tree.WalkOptions{NoSizes: o.NoSizes, Names: o.Names, All: o.Prune == nil}, func(e tree.Entry) (bool, error) {
		if !yield(e) {
			return false, errStop
		}
		return e.Kind == tree.Group && (o.Prune == nil || !o.Prune(e)), nil
	})
	if errors.Is(err, errStop) {
		return false, nil
	}
	return true, err
}

// GroupAttrs reads the attributes of the group at a path.
func (t *Tree) GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error) {
	attrs, err := t.Tree.GroupAttrs(ctx, path)
	return attrs, t.wrap("read attributes of", t.at(path), err)
}

// Metadata reads the stored metadata of the object at a path.
func (t *Tree) Metadata(ctx context.Context, path string) (tree.Metadata, error) {
	m, err := t.Tree.Metadata(ctx, path)
	return m, ndarray.Wrap("read metadata of", urlfile.Redact(t.at(path)), err)
}

// Array opens the array at a path for reading. With references, attributes with references are
// read too.
func (t *Tree) Array(ctx context.Context, path string, references bool) (*ndarray.Array, error) {
	o := t.Arrays
	o.References = references
	return logged(ctx, t.Logger, "open", t.at(path), func() (*ndarray.Array, error) {
		a, err := tree.NewArray(t.Open(ctx, path, &o))
		return a, t.wrap("open", t.at(path), err)
	})
}

// HDF5 returns the open HDF5 file, or nil for another format and a file that a worker reads.
func (t *Tree) HDF5() *h5.File {
	if x, ok := tree.As[h5tree.Holder](t.Tree); ok {
		return x.HDF5()
	}
	return nil
}

// Stores returns the open container of python-blosc2, or nil for another format and a file that a
// worker reads.
func (t *Tree) Stores() *stores.Store {
	if x, ok := tree.As[containers.Holder](t.Tree); ok {
		return x.Store()
	}
	return nil
}
