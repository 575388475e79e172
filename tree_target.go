// The formats that CopyTree writes.

package hyperslab

import (
	"context"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format/detect"
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
	// divide plans an array that becomes several ones, from its spec. It reports whether it did.
	divide(item *treeItem, attrs ndarray.Attrs) (bool, error)
	// complete completes the plan after the last object of the source.
	complete(ctx context.Context) error

	// source returns the elements of a newly opened array of the source as the target stores them.
	source(a *ndarray.Array, item *treeItem) (*ndarray.Array, error)
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

// plainTarget has the methods of a target that copies each array as one array.
type plainTarget struct{ c *treeCopy }

func (plainTarget) attr(a ndarray.Attr) (ndarray.Attr, error)                    { return a, nil }
func (plainTarget) begin(*treeItem) bool                                         { return false }
func (plainTarget) plan(*treeItem) (bool, error)                                 { return false, nil }
func (plainTarget) divide(*treeItem, ndarray.Attrs) (bool, error)                { return false, nil }
func (plainTarget) own(context.Context, *treeItem) (bool, error)                 { return false, nil }
func (plainTarget) finish(context.Context, *treeItem) error                      { return nil }
func (plainTarget) source(a *ndarray.Array, _ *treeItem) (*ndarray.Array, error) { return a, nil }

func (t plainTarget) complete(context.Context) error {
	t.c.planNulls()
	return nil
}

// newTarget returns the target of a format for trees.
func newTarget(c *treeCopy, f Format, table bool) (copyTarget, error) {
	plain := plainTarget{c}
	frames := frameTarget{plainTarget: plain}
	switch {
	case table:
		return &tableTarget{frameTarget: frames}, nil
	case f == HDF5:
		return newHDF5Target(plain), nil
	case f == Bcolz:
		return &bcolzTarget{plainTarget: plain}, nil
	case f == Directory:
		return &frames, nil
	case detect.IsStore(string(f)):
		return &storeTarget{frames}, nil
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
