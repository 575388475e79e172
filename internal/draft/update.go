// Atomic changes of existing files in any format.

package draft

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Update changes a copy of a file or directory and replaces the file by it: hyperslab.UpdateWith
// documents it. held is the lock of the file, which the caller holds; nil: Update takes it.
func Update(ctx context.Context, file string, held *ndarray.Lock, change func(copy string) error) (err error) {
	lock, err := LockTo(ctx, held, file)
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
	var invalid error // of an object
	err := walk(ctx, file, func(e tree.Entry) (bool, error) {
		if e.Err != nil && !errors.Is(e.Err, errors.ErrUnsupported) && !errors.Is(e.Err, ndarray.ErrType) {
			invalid = fmt.Errorf("%s: %w", e.Path, e.Err)
		}
		return true, invalid
	})
	if invalid != nil {
		return invalid
	}
	return ndarray.Wrap("list", locate.Location{File: file}.String(), err)
}

// walk visits all objects of a file or directory.
func walk(ctx context.Context, file string, visit tree.Visit) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, f, err := opener.Find(ctx, file, false)
	if err != nil {
		return err
	}
	t, err := opener.Open(ctx, f, s, &tree.OpenOptions{})
	if err != nil {
		return err
	}
	return errors.Join(t.Walk(ctx, "", &tree.WalkOptions{All: true}, visit), t.Close())
}
