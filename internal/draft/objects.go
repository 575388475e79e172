// Copies of objects of HDF5 files to a new or an existing HDF5 file.

package draft

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5objects"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Objects are copies of objects to the HDF5 file Copy.Target, which Run creates if it does not
// exist. Run sets Within of the sources.
type Objects struct {
	h5objects.Copy

	Format  string        // of an existing file; "": Run detects it
	InPlace bool          // change an existing file itself instead of a copy
	Held    *ndarray.Lock // lock of an existing file, which the caller holds; nil: Run takes it

	Leave func(file string) error        // closes the file of a source, which is then opened for writing
	Begin func(file string) (end func()) // is called when the objects are written to a file; nil: no effect
}

// Run copies the objects: hyperslab.CopyObjects documents it.
func (o *Objects) Run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(o.Sources) == 0 {
		return fmt.Errorf("%w: no objects", ndarray.ErrParam)
	}
	there, err := o.Examine(ctx)
	switch {
	case err != nil:
		return err
	case !there:
		return o.create(ctx)
	case o.InPlace:
		return o.into(ctx, o.Target, o.Held)
	}
	return Update(ctx, o.Target, o.Held, func(file string) error { return o.into(ctx, file, nil) })
}

// Examine reports whether the target exists, and sets Within of the sources. It returns
// ndarray.ErrParam if the target has another format, or if two objects have the same target.
func (o *Objects) Examine(ctx context.Context) (there bool, err error) {
	made := make(map[string]string, len(o.Sources))
	for _, x := range o.Sources {
		from := locate.Location{File: x.File, Object: x.Path}.String()
		if before, twice := made[x.To]; twice {
			return false, errs.Mark(fmt.Errorf("%s and %s would both become %s", before, from,
				locate.Location{File: o.Target, Object: x.To}), ndarray.ErrParam)
		}
		made[x.To] = from
	}
	info, err := os.Stat(o.Target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, ctx.Err()
	}
	if err != nil {
		return false, err
	}
	if o.Format == "" {
		o.Format, err = opened.Sniff(o.Target)
	}
	if err == nil && o.Format != detect.HDF5 {
		err = errs.Mark(fmt.Errorf("%s is of format %s and has no paths inside", o.Target, o.Format), ndarray.ErrParam)
	}
	for i, x := range o.Sources {
		source, serr := os.Stat(x.File)
		o.Sources[i].Within = serr == nil && os.SameFile(source, info)
	}
	return true, err
}

// create copies the objects to a new file.
func (o *Objects) create(ctx context.Context) (err error) {
	out, err := atomicfile.Create(ctx, o.Target, atomicfile.Options{})
	if err != nil {
		return ndarray.Wrap("create", o.Target, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort())
		}
	}()
	like, err := o.Open(o.Sources[0].File)
	if err != nil {
		return err
	}
	dst, err := h5copy.CreatePlain(out.Path(), like)
	if err != nil {
		return err
	}
	if err := errors.Join(o.copy(ctx, dst, out.Path()), dst.Close()); err != nil {
		return err
	}
	return out.Commit()
}

// into copies the objects to an existing file, which is locked unless held is its lock.
func (o *Objects) into(ctx context.Context, file string, held *ndarray.Lock) (err error) {
	for _, x := range o.Sources {
		if x.Within && o.Leave != nil {
			if err := o.Leave(x.File); err != nil {
				return err
			}
		}
	}
	dst, done, err := OpenHDF5(ctx, file, held)
	if err != nil {
		return err
	}
	return errors.Join(o.copy(ctx, dst, file), done())
}

// copy copies the objects to an open file of that name.
func (o *Objects) copy(ctx context.Context, dst *h5.File, file string) error {
	if o.Begin != nil {
		defer o.Begin(file)()
	}
	return o.Copy.Run(ctx, dst)
}

// OpenHDF5 opens an HDF5 file to change it in place, under its lock: held if it is not nil. It
// waits for other writers. done closes the file.
func OpenHDF5(ctx context.Context, file string, held *ndarray.Lock) (f *h5.File, done func() error, err error) {
	lock, err := opened.LockInPlace(ctx, held, file, detect.HDF5)
	if err != nil {
		return nil, nil, err
	}
	if f, err = h5tree.OpenWritable(ctx, file); err != nil {
		return nil, nil, errors.Join(err, lock.Release())
	}
	return f, func() error { return errors.Join(f.Close(), lock.Check(), lock.Release()) }, nil
}
