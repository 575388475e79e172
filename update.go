// Atomic changes of existing files in any format.

package hyperslab

import (
	"context"

	"github.com/hyperslab/hyperslab/internal/draft"
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
	return ndarray.Wrap("update", file, draft.Update(ctx, file, orZero(o).Lock, change))
}
