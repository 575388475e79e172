// The formats that CopyTree writes.

package hyperslab

import (
	"context"
	"fmt"

	"github.com/hyperslab/hyperslab/ndarray"
)

// copyTarget is the format of a copy. Its fitness methods decide which parts of the source it
// keeps, and its write methods create them.
type copyTarget interface {
	traits() traits

	// checkName returns an error if the target cannot store an object of that path.
	checkName(path string, group bool) error
	// check returns an error if the target cannot store an array at a path. rows is the number of
	// rows of the first array, or -1.
	check(path string, spec ndarray.Spec, rows int64) error
	// attr returns an attribute as the target stores it.
	attr(a ndarray.Attr) (ndarray.Attr, error)
	// stores reports whether the target stores an attribute without a Value.
	stores(raw ndarray.Attr) bool

	// begin plans an object whose kind alone decides how it is copied. It reports whether it did.
	begin(item *treeItem) bool
	// plan plans an object with a name that checkName accepts, unless it is planned as in other
	// formats. It reports whether it did.
	plan(item *treeItem) (bool, error)
	// complete completes the plan after the last object of the source.
	complete(ctx context.Context) error

	// write writes the file or the directory.
	write(ctx context.Context, file string) error
}

// traits are the properties of a format.
type traits struct {
	format      Format                // of its arrays
	compression *ndarray.Compression  // the default
	frames      bool                  // each array is a Blosc2 frame
	text        bool                  // strings of each kind are stored as they are
	variable    bool                  // strings of variable length
	comments    bool                  // of objects
	groupAttrs  bool                  // attributes of groups
	links       []string              // kinds of links
	copiesAttrs bool                  // the target copies the attributes of the source itself
	adopt       func(s *ndarray.Spec) // removes properties of an array of another format; may be nil
}

// newTarget returns the target of a format for trees.
func newTarget(c *treeCopy, f Format, table bool) (copyTarget, error) {
	switch {
	case table:
		return &tableTarget{frameTarget: frameTarget{c: c}}, nil
	case f == HDF5:
		return newHDF5Target(c), nil
	case f == Bcolz:
		return &bcolzTarget{c: c}, nil
	case f == Directory:
		return &frameTarget{c: c}, nil
	case isStore(f):
		return &storeTarget{frameTarget{c: c}}, nil
	}
	return nil, fmt.Errorf("%w: a tree in a file of format %s", ndarray.ErrParam, f)
}

// arrayWriter creates the arrays of a target.
type arrayWriter interface {
	// own writes an array that is not created and filled. It reports whether it did.
	own(ctx context.Context, item *treeItem) (bool, error)
	// create creates an array.
	create(item *treeItem) (ndarray.Backend, error)
	// finish completes an array that is filled.
	finish(ctx context.Context, item *treeItem) error
	// remove removes an array that could not be filled.
	remove(item *treeItem) error
}
