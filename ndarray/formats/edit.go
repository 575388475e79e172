// Changes of what is there that happen whole or not at all, whatever the format.

package formats

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Edit changes a file, or the directory of a sparse frame or a bcolz tree: it calls
// change with a copy beside it, and puts the copy, synced, in its place if change
// returns nil. A program, or a machine, that stops leaves the old file or the new
// one. So an HDF5 file is appended to durably, which the library in place cannot; the
// copy costs nothing where the file system shares blocks, and else its size.
//
// change must close what it opens. The others that have the old file open keep it. A
// symbolic link stays one, to the new file.
//
// Edit opens the copy, all of its groups and arrays, before it replaces the file.
//
// It returns ndarray.ErrNotFound, what change returns, an error of opening the copy, the
// context's error, or that of the file system; the file then is as it was.
func Edit(ctx context.Context, file string, change func(copy string) error) error {
	return ndarray.Wrap("edit", file, translate(edit(ctx, file, change)))
}

func edit(ctx context.Context, file string, change func(string) error) (err error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	out, err := atomicfile.Create(real, atomicfile.Options{Overwrite: true})
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
		return fmt.Errorf("the old file stays, because the new one cannot be read: %w", err)
	}
	return out.Commit()
}

// opens opens every group and array of a file or directory and reads how they are stored.
func opens(ctx context.Context, file string) error {
	for e, err := range Walk(ctx, Location{File: file}.String()) {
		if err != nil {
			return err
		}
		if e.Err != nil && !errors.Is(e.Err, errors.ErrUnsupported) && !errors.Is(e.Err, ndarray.ErrType) {
			return fmt.Errorf("%s: %w", e.Path, e.Err)
		}
	}
	return nil
}
