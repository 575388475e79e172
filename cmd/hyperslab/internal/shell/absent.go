package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ErrLossy is the error of append without --allow-lossy.
var ErrLossy = errs.New("unsupported operation: a write through the lossy filter", errors.ErrUnsupported)

// IsGroup reports whether a group is at the location of a tree, which was opened with an address.
// Otherwise an array is there.
func IsGroup(ctx context.Context, tree *hyperslab.Tree, address string) (bool, error) {
	for e, err := range tree.Walk(ctx, &hyperslab.WalkOptions{NoSizes: true, Prune: func(hyperslab.Entry) bool { return true }}) {
		return e.Kind == hyperslab.Group, err
	}
	return false, fmt.Errorf("%s: %w", address, ndarray.ErrNotFound)
}

// AbsentAttr is the error for a missing attribute. then describes the state of the job.
type AbsentAttr struct {
	Address, Name, Then string
	Names               []string // of the existing attributes
}

// AttrNames returns the names of all attributes.
func AttrNames(attrs ndarray.Attrs) (names []string) {
	for _, attr := range attrs.List {
		names = append(names, attr.Name)
	}
	for _, u := range attrs.Unsupported {
		names = append(names, u.Name)
	}
	return names
}

func (e *AbsentAttr) Error() string {
	return fmt.Sprintf("%s: attribute %s: %v%s", e.Address, e.Name, ndarray.ErrNotFound, e.Then)
}

func (e *AbsentAttr) Unwrap() error { return ndarray.ErrNotFound }
