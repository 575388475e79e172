// Creates an array in an existing HDF5 file.

package draft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/striped"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// addition is an array that Create adds to an HDF5 file: to a copy, or in place.
type addition struct {
	file   *h5.File
	object string
	aside  string // in place: the link of the object that the array replaces, "" if none

	source *regularfile.State // the file that was copied; nil in place
	lock   *ndarray.Lock
	done   func() // in place: releases the part of the lock for the object
	begun  bool   // the object is changed
}

// add starts an array in the existing HDF5 file o.File. It changes a copy that Commit moves over
// the file, or the file itself if o.InPlace is set.
func add(ctx context.Context, spec ndarray.Spec, o Options) (_ *Draft, err error) {
	if is, err := opener.Sniff(ctx, o.File); err != nil || is != o.Format {
		return nil, cmp.Or(err, fmt.Errorf("%w: %s is of format %s, an array is added to HDF5 files", ndarray.ErrParam, o.File, is))
	}
	file, err := filepath.EvalSymlinks(o.File)
	if err != nil {
		return nil, err
	}
	object := tree.Root(o.Path)
	if err := hdf5.Check(object, spec); err != nil {
		return nil, err
	}
	a := &addition{object: object}
	if err := a.hold(ctx, file, &o); err != nil {
		return nil, err
	}
	d := &Draft{location: o.Name, addition: a}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.discard())
		}
	}()
	if err := d.prepare(ctx, file, &o); err != nil {
		return nil, err
	}
	d.Array, err = tree.NewArray(hdf5.CreateIn(a.file, object, spec, h5tree.Creation(&o.CreateOptions)))
	if err == nil {
		d.stripes = striped.Paths(file, o.Stripes)
	}
	return d, err
}

// prepare opens the file, or the copy of it that Commit moves over the file, and unlinks the object
// that the array replaces.
func (d *Draft) prepare(ctx context.Context, file string, o *Options) (err error) {
	a := d.addition
	replace, target := false, file
	if !o.InPlace {
		if replace, err = replacesIn(ctx, file, a.object, o.Overwrite); err != nil {
			return err
		}
		if a.source, err = regularfile.Observe(file); err != nil {
			return err
		}
		if d.out, err = atomicfile.Create(ctx, file, atomicfile.Options{Overwrite: true, Lock: a.lock, Own: o.Lock == nil}); err != nil {
			return err
		}
		target = d.out.Path()
		if err := atomicfile.Copy(ctx, target, file); err != nil {
			return err
		}
	}
	if a.file, err = h5tree.OpenWritable(ctx, target); err != nil {
		return err
	}
	if o.InPlace { // libhdf5 does not also open the file for reading
		if replace, err = replaces(a.file.Root(), a.object, o.Overwrite); err != nil {
			return err
		}
	}
	a.begun = true
	switch {
	case !replace:
		return nil
	case o.InPlace: // so that Close without Commit can restore the old object
		if a.aside, err = freeName(a.file.Root(), a.object); err != nil {
			return err
		}
		return a.file.Root().MoveLink(a.object, a.file.Root(), a.aside)
	}
	return a.file.Root().Unlink(a.object) // first, so that the array can use its space
}

// hold locks the file until release. Drafts of this process can add different objects in place at
// the same time.
func (a *addition) hold(ctx context.Context, file string, o *Options) (err error) {
	a.done = func() {}
	if !o.InPlace {
		a.lock, err = LockTo(ctx, o.Lock, file)
		return err
	}
	if a.lock, err = opened.LockInPlace(ctx, o.Lock, file, detect.HDF5); err != nil {
		return err
	}
	err = filelock.Retry(ctx, file, func() error {
		done, err := a.lock.Part("new " + a.object)
		if err == nil {
			a.done = done
		}
		return err
	})
	if err != nil {
		err = errors.Join(err, a.release())
	}
	return err
}

func (a *addition) release() error {
	a.done()
	return a.lock.Release()
}

// replacesIn is replaces for a file that is not open.
func replacesIn(ctx context.Context, file, object string, overwrite bool) (_ bool, err error) {
	var f *h5.File
	err = filelock.Retry(ctx, file, func() error {
		f, err = h5.Open(file, h5.ReadOnly)
		return err
	})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return replaces(f.Root(), object, overwrite)
}

// replaces reports whether an object of that path exists and may be replaced by an array.
func replaces(root *h5.Group, object string, overwrite bool) (bool, error) {
	exists, err := root.HasLink(object)
	if !exists || err != nil {
		return false, err
	}
	if !overwrite {
		return false, fmt.Errorf("%w: object %s", ndarray.ErrExists, object)
	}
	link, err := root.Link(object)
	if err != nil {
		return false, err
	}
	if link.Kind != h5.HardLink {
		return true, nil // the link is replaced, not its target
	}
	kind, err := root.Kind(object)
	if err == nil && kind == h5.GroupObject {
		return false, fmt.Errorf("%w: %s is a group; an array replaces an array, a link or a named datatype", ndarray.ErrParam, object)
	}
	return true, err
}

// freeName returns an unused link name derived from object.
func freeName(root *h5.Group, object string) (string, error) {
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s.replaced-%d", object, n)
		if exists, err := root.HasLink(name); !exists || err != nil {
			return name, err
		}
	}
}

// finish completes a file whose array is closed. It is an error if another program changed the
// file after it was copied, because the copy would undo that change.
func (a *addition) finish() error {
	var err error
	if a.aside != "" {
		err = a.file.Root().Unlink(a.aside)
	}
	if err = errors.Join(err, a.file.Close()); err != nil {
		return err
	}
	if a.source == nil {
		return a.lock.Check()
	}
	return a.source.Check()
}

// undo removes an array that is not committed from a file that is changed in place.
func (a *addition) undo() (err error) {
	defer func() { err = errors.Join(err, a.release()) }()
	if a.file == nil {
		return nil
	}
	if a.source == nil && a.begun {
		made, err := a.file.Root().HasLink(a.object)
		if made && err == nil {
			err = a.file.Root().Unlink(a.object)
		}
		if err == nil && a.aside != "" {
			err = a.file.Root().MoveLink(a.aside, a.file.Root(), a.object)
		}
		return errors.Join(err, a.file.Close())
	}
	return a.file.Close()
}
