// Changes of the attributes of groups.

package h5tree

import (
	"context"
	"errors"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// OpenWritable opens an HDF5 file for writing. It waits for other programs that have it open.
func OpenWritable(ctx context.Context, file string) (f *h5.File, err error) {
	err = filelock.Retry(ctx, file, func() error {
		f, err = h5.Open(file, h5.ReadWrite)
		return err
	})
	return f, err
}

// editGroup changes the attributes of a group.
func editGroup(ctx context.Context, file, path string, e tree.GroupEdit) (err error) {
	for _, a := range e.Set {
		if err := errors.Join(a.Validate(), hdf5.CheckAttr(a)); err != nil {
			return err
		}
	}
	f, err := OpenWritable(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	g := f.Root()
	if !tree.IsRoot(path) {
		if g, err = f.Root().OpenGroup(tree.Root(path)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	for _, name := range e.Remove {
		if err := g.DeleteAttribute(name); err != nil {
			return err
		}
	}
	for _, a := range e.Set {
		there, err := g.HasAttribute(a.Name)
		if there && err == nil {
			err = g.DeleteAttribute(a.Name)
		}
		if err != nil {
			return err
		}
	}
	return hdf5.WriteAttrs(g, e.Set)
}
