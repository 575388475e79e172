// Attributes of groups by location, for reading and writing.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// EditGroupAttrs removes the attributes in remove from a group, then sets those in set, in place. A
// program that is killed in the process can leave the file corrupt. A directory of arrays without a
// file for attributes gets one.
//
// It returns ndarray.ErrNotFound for a missing file, path or attribute in remove, ErrFormat,
// ErrParam if the location is an array, ErrCorrupt, and errors.ErrUnsupported for a ctable and for
// an attribute that the format cannot store.
func EditGroupAttrs(ctx context.Context, location string, set []ndarray.Attr, remove []string) error {
	return ndarray.Wrap("write attributes of", shown(location), editGroup(ctx, location, set, remove))
}

func editGroup(ctx context.Context, location string, set []ndarray.Attr, remove []string) error {
	l, err := locate.Parse(location)
	if err != nil {
		return err
	}
	if isURL(l.File) {
		return editGroupAt(ctx, l, HDF5, set, remove)
	}
	if info, err := os.Stat(l.File); err == nil && info.IsDir() {
		format, err := sniff(ctx, l.File)
		if err != nil {
			return err
		}
		if format == Directory { // only the file with the attributes is locked
			return editGroupAt(ctx, l, format, set, remove)
		}
	}
	lock, format, err := lockFormat(ctx, nil, locate.Location{File: l.File})
	if err != nil {
		return err
	}
	return errors.Join(editGroupAt(ctx, l, format, set, remove), lock.Release())
}

func editGroupAt(ctx context.Context, l locate.Location, format Format, set []ndarray.Attr, remove []string) error {
	if err := (&walker{ctx: ctx}).mayBeGroup(l, format); err != nil {
		return err
	}
	if isURL(l.File) {
		return fmt.Errorf("%w: writing to a URL", errors.ErrUnsupported)
	}
	if format == Directory {
		if in, ok := bcolzIn(l); ok {
			return editGroupAt(ctx, in, Bcolz, set, remove)
		}
	}
	switch format {
	case HDF5:
		return editHDF5Group(ctx, l, set, remove)
	case Directory:
		return editDirectory(ctx, l, set, remove)
	}
	return fmt.Errorf("%w: attributes of a group of format %s are read, not written", errors.ErrUnsupported, format)
}

// mayBeGroup returns an error if the location can only be an array.
func (w *walker) mayBeGroup(l locate.Location, format Format) (err error) {
	l, format, release, err := w.placed(l, format)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if format == B2ND || format == NPY {
		return fmt.Errorf("%w: a file of format %s is one array and has no groups", ndarray.ErrParam, format)
	}
	if format == Bcolz {
		table, err := openTable(w.ctx, l.File, w.bcolzOptions())
		if err != nil {
			return err
		}
		inside := func(name string) bool { return strings.HasPrefix("/"+name, groupPath(l)+"/") }
		if groupPath(l) != "/" && !slices.ContainsFunc(table.Names, inside) {
			return fmt.Errorf("%w: a bcolz ctable has columns and no groups", ndarray.ErrParam)
		}
	}
	return nil
}

func groupPath(l locate.Location) string { return "/" + strings.Trim(l.Object, "/") }

func editHDF5Group(ctx context.Context, l locate.Location, set []ndarray.Attr, remove []string) (err error) {
	for _, a := range set {
		if err := errors.Join(a.Validate(), hdf5.CheckAttr(a)); err != nil {
			return err
		}
	}
	f, err := openWritable(ctx, l.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	g := f.Root()
	if path := groupPath(l); path != "/" {
		if g, err = f.Root().OpenGroup(path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	for _, name := range remove {
		if err := g.DeleteAttribute(name); err != nil {
			return err
		}
	}
	for _, a := range set {
		there, err := g.HasAttribute(a.Name)
		if there && err == nil {
			err = g.DeleteAttribute(a.Name)
		}
		if err != nil {
			return err
		}
	}
	return hdf5.WriteAttrs(g, set)
}

func editDirectory(ctx context.Context, l locate.Location, set []ndarray.Attr, remove []string) (err error) {
	dir := l.File
	for name := range strings.SplitSeq(strings.Trim(l.Object, "/"), "/") {
		if name == "" {
			continue
		}
		if dir, err = child(dir, name, true); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, groupFile)
	if !regularfile.Exists(file) {
		if err := createGroup(ctx, file); err != nil && !errors.Is(err, ndarray.ErrExists) { // another writer may have created it
			return err
		}
	}
	lock, err := filelock.Acquire(ctx, file, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	group, err := array(b2nd.Open(file, &b2nd.OpenOptions{Write: true, Lock: lock}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	for _, name := range remove {
		if err := group.DeleteAttr(ctx, name); err != nil {
			return err
		}
	}
	for _, a := range set {
		if err := group.SetAttr(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// createGroup creates the file with the attributes of a group, of which it has none yet.
func createGroup(ctx context.Context, file string) error {
	out, err := atomicfile.Create(ctx, file, atomicfile.Options{})
	if err != nil {
		return err
	}
	group, err := array(b2nd.Create(out.Path(), groupSpec(nil), nil))
	if err == nil {
		err = group.Close()
	}
	if err == nil {
		err = out.Commit()
	}
	return errors.Join(err, out.Abort())
}

// groupSpec returns the Spec of the null array with the attributes of a group of a directory.
func groupSpec(attrs []ndarray.Attr) ndarray.Spec {
	return ndarray.Spec{Null: true, DType: ndarray.DTypeOf[uint8](), Attrs: attrs}
}

// groupAttrs reads the attributes of the group at a location.
func (w *walker) groupAttrs(l locate.Location, format Format) (attrs ndarray.Attrs, err error) {
	l, format, release, err := w.placed(l, format)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, release()) }()
	path := groupPath(l)
	switch format {
	case B2Z, B2D, B2E:
		return w.storedGroupAttrs(l, format)
	case Bcolz:
		table, err := openTable(w.ctx, l.File, w.bcolzOptions())
		if err != nil || path != "/" { // groups in a nested ctable have no attributes
			return attrs, err
		}
		return table.Attrs, nil
	case Directory:
		dir := l.File
		for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
			if name == "" {
				continue
			}
			if dir, err = child(dir, name, true); err != nil {
				return attrs, err
			}
		}
		return w.directoryAttrs(dir)
	}
	f, done, err := w.openHDF5(l.File)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return hdf5GroupAttrs(w.ctx, f.Root(), path)
}
