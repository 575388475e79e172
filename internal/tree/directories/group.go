// Changes of the attributes of groups.

package directories

import (
	"cmp"
	"context"
	"errors"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// editGroup changes the attributes of a group. It locks only the file that stores them.
func editGroup(ctx context.Context, root, path string, e tree.GroupEdit) (err error) {
	files := regularfile.Dir(root)
	if _, _, ok := inBcolz(files, path); ok {
		_, err := (&directory{tree.ByPath(root, detect.Directory)}).GroupAttrs(ctx, path) // an array has none
		return cmp.Or(err, tree.ReadOnlyGroup(detect.Bcolz))
	}
	dir, err := groupDir(files, path)
	if err != nil {
		return err
	}
	file := files.Path(dir + "/" + groupFile)
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
	for _, name := range e.Remove {
		if err := group.DeleteAttr(ctx, name); err != nil {
			return err
		}
	}
	for _, a := range e.Set {
		if err := group.SetAttr(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// createGroup creates the file with the attributes of a group, which does not exist yet.
func createGroup(ctx context.Context, file string) error {
	out, err := atomicfile.Create(ctx, file, atomicfile.Options{})
	if err != nil {
		return err
	}
	group, err := tree.NewArray(b2nd.Create(out.Path(), groupSpec(nil), nil))
	if err == nil {
		err = group.Close()
	}
	if err == nil {
		err = out.Commit()
	}
	return errors.Join(err, out.Abort())
}
