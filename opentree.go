// Tree: a file whose objects are opened one by one, trusted or untrusted.

package hyperslab

import (
	"context"
	"iter"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Tree is a file, or a group in it, whose objects are listed and opened one by one. For an
// untrusted file one worker serves all objects, after it has checked the file once.
//
// Any number of goroutines may use a Tree and its arrays. The arrays must be closed before the
// Tree. For an untrusted tree the worker holds only one array open at a time, so reading several
// arrays alternately is slow.
type Tree struct {
	Format Format // of the file; B2ND for a Caterva array. It must not be changed.

	tree *opened.Tree
}

// OpenTree returns the tree at a location. It uses o.ExternalDir, o.Metadata, o.Missing,
// o.Unlocked and o.Untrusted, and returns ndarray.ErrParam if another option is set. It returns the
// errors of Walk for the file. A file stays open until Close. Until then an HDF5 file is locked:
// other processes can open it for reading only.
func OpenTree(ctx context.Context, location string, o *OpenOptions) (*Tree, error) {
	t, err := opened.Open(ctx, location, o.internal())
	if err != nil {
		return nil, err
	}
	return &Tree{Format: Format(t.Format), tree: t}, nil
}

// Walk yields the object at the location and the objects below it, like Walk of the package. The
// options Unlocked and Untrusted are those of OpenTree. A tree that a worker reads supports one
// walk at a time: a walk ends with ErrParam if another one begins.
func (t *Tree) Walk(ctx context.Context, o *WalkOptions) iter.Seq2[Entry, error] {
	return entries(t.tree.All(ctx, walkOptions(o)))
}

// entries converts the entries of a walk.
func entries(all iter.Seq2[tree.Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range all {
			if !yield(entryOf(e), err) {
				return
			}
		}
	}
}

// walkOptions returns the options of a walk.
func walkOptions(o *WalkOptions) opened.WalkOptions {
	x := orZero(o)
	out := opened.WalkOptions{NoSizes: x.NoSizes}
	if x.Prune != nil {
		out.Prune = func(e tree.Entry) bool { return x.Prune(entryOf(e)) }
	}
	return out
}

// GroupAttrs reads the attributes of the group at a path of an HDF5 file, a bcolz ctable, a
// directory of arrays or a container of python-blosc2.
//
// It returns ndarray.ErrNotFound for a missing path, ErrParam if the path is that of an array, or
// ErrCorrupt; for an untrusted file also the errors of Open.
func (t *Tree) GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error) {
	return t.tree.GroupAttrs(ctx, path)
}

// Open opens the array at a path of the file, for reading. It returns the errors of
// Open of the package.
func (t *Tree) Open(ctx context.Context, path string) (*ndarray.Array, error) {
	return t.tree.Array(ctx, path, false)
}

// Metadata reads the metadata of an array or a group at a path of the file. For an untrusted file
// Untrusted.MaxMetadata bounds the total size. It returns the errors of Open.
func (t *Tree) Metadata(ctx context.Context, path string) (Metadata, error) {
	m, err := t.tree.Metadata(ctx, path)
	return Metadata(m), err
}

// Close ends the worker of an untrusted tree, and closes an HDF5 file or a container of
// python-blosc2.
func (t *Tree) Close() error { return t.tree.Close() }
