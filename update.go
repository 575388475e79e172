// Atomic changes of existing files in any format.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Update changes a file, or the directory of a sparse frame or a bcolz tree, atomically. It calls
// change with the path of a copy next to the file. If change returns nil, Update syncs the copy and
// replaces the file by it. If the program or the machine stops, the file is the old one or the new
// one. For example, Update can append to an HDF5 file durably, which libhdf5 cannot do in place.
// The copy is free if the file system shares blocks; otherwise it takes the size of the file.
//
// change must close all files that it opens. Other programs that have the old file open keep
// reading the old file. A symbolic link is preserved; its target is replaced.
//
// Update opens the copy, all of its groups and arrays, before it replaces the file.
//
// It returns ndarray.ErrNotFound, the error of change, an error of opening the copy, the context's
// error, or an error of the file system. After an error the file is unchanged.
//
// Update holds the lock of the file (LockFile) from the copy to the replacement. It waits as long
// as ctx allows for other writers, and then returns ErrLocked. A program that opens the file with
// libhdf5 for writing meanwhile gets an error. Update returns ErrReplaced if a program without the
// lock changed the file meanwhile. change must not change file itself, because Update has the lock.
func Update(ctx context.Context, file string, change func(copy string) error) error {
	return UpdateWith(ctx, file, nil, change)
}

// UpdateOptions are the options of UpdateWith. Nil means the zero value.
type UpdateOptions struct {
	Lock *Lock // the lock of the file, which the caller holds; nil: UpdateWith takes it
}

// UpdateWith is Update with options.
func UpdateWith(ctx context.Context, file string, o *UpdateOptions, change func(copy string) error) error {
	return ndarray.Wrap("update", file, update(ctx, file, orZero(o).Lock, change))
}

func update(ctx context.Context, file string, held *Lock, change func(string) error) (err error) {
	lock, err := lockTo(ctx, held, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	before, err := regularfile.Observe(real)
	if err != nil {
		return err
	}
	out, err := atomicfile.Create(ctx, real, atomicfile.Options{Overwrite: true, Lock: lock, Own: held == nil})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort())
		}
	}()
	if err := atomicfile.Copy(ctx, out.Path(), real); err != nil {
		return err
	}
	if err := change(out.Path()); err != nil {
		return err
	}
	if err := opens(ctx, out.Path()); err != nil {
		return fmt.Errorf("the old file is unchanged, because the new one cannot be read: %w", err)
	}
	if err := before.Check(); err != nil {
		return err
	}
	return out.Commit()
}

// opens opens every group and array of a file or directory and reads its storage properties.
func opens(ctx context.Context, file string) error {
	for e, err := range Walk(ctx, locate.Location{File: file}.String(), nil) {
		if err != nil {
			return err
		}
		if e.Err != nil && !errors.Is(e.Err, errors.ErrUnsupported) && !errors.Is(e.Err, ndarray.ErrType) {
			return fmt.Errorf("%s: %w", e.Path, e.Err)
		}
	}
	return nil
}
