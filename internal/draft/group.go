// Changes of the attributes of groups.

package draft

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/directories"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// EditGroupAttrs removes and sets attributes of a group. Package hyperslab documents it.
func EditGroupAttrs(ctx context.Context, location string, set []ndarray.Attr, remove []string) error {
	return ndarray.Wrap("write attributes of", urlfile.Redact(location), editGroup(ctx, location, set, remove))
}

func editGroup(ctx context.Context, location string, set []ndarray.Attr, remove []string) error {
	l, err := locate.Parse(location)
	if err != nil {
		return err
	}
	if urlfile.IsURL(l.File) {
		return editGroupAt(ctx, l, detect.HDF5, set, remove)
	}
	if info, err := os.Stat(l.File); err == nil && info.IsDir() {
		format, err := opener.Sniff(ctx, l.File)
		if err != nil {
			return err
		}
		if format == detect.Directory { // only the file with the attributes is locked
			return editGroupAt(ctx, l, format, set, remove)
		}
	}
	lock, format, err := opened.LockFormat(ctx, nil, locate.Location{File: l.File})
	if err != nil {
		return err
	}
	return errors.Join(editGroupAt(ctx, l, format, set, remove), lock.Release())
}

func editGroupAt(ctx context.Context, l locate.Location, format string, set []ndarray.Attr, remove []string) error {
	switch {
	case urlfile.IsURL(l.File):
		return fmt.Errorf("%w: writing to a URL", errors.ErrUnsupported)
	case format == detect.HDF5:
		return editHDF5Group(ctx, l, set, remove)
	case format == detect.Directory:
		if _, _, ok := directories.Bcolz(l.File, l.Object); !ok {
			return editDirectory(ctx, l, set, remove)
		}
	}
	if !detect.IsStore(format) {
		if err := mayBeGroup(ctx, l); err != nil {
			return err
		}
	}
	if format == detect.Directory {
		format = detect.Bcolz
	}
	return fmt.Errorf("%w: attributes of a group of format %s are read, not written", errors.ErrUnsupported, format)
}

// mayBeGroup returns an error if the location is that of an array.
func mayBeGroup(ctx context.Context, l locate.Location) error {
	s, f, err := opener.Find(ctx, l.File, false)
	if err != nil {
		return err
	}
	t, err := opener.Open(ctx, f, s, &tree.OpenOptions{})
	if err != nil {
		return err
	}
	_, err = t.GroupAttrs(ctx, l.Object)
	return errors.Join(err, t.Close())
}

func editHDF5Group(ctx context.Context, l locate.Location, set []ndarray.Attr, remove []string) (err error) {
	for _, a := range set {
		if err := errors.Join(a.Validate(), hdf5.CheckAttr(a)); err != nil {
			return err
		}
	}
	f, err := OpenWritable(ctx, l.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	g := f.Root()
	if path := tree.Root(l.Object); path != "/" {
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
	dir, err := directories.Group(l.File, l.Object)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, directories.GroupFile)
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
	group, err := tree.NewArray(b2nd.Open(file, &b2nd.OpenOptions{Write: true, Lock: lock}))
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
	group, err := tree.NewArray(b2nd.Create(out.Path(), directories.GroupSpec(nil), nil))
	if err == nil {
		err = group.Close()
	}
	if err == nil {
		err = out.Commit()
	}
	return errors.Join(err, out.Abort())
}
