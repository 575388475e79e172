// Changes of the attributes of groups.

package draft

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// EditGroupAttrs removes and sets attributes of a group. Package hyperslab documents it.
func EditGroupAttrs(ctx context.Context, location string, set []ndarray.Attr, remove []string) error {
	return ndarray.Wrap("write attributes of", urlfile.Redact(location), editGroup(ctx, location, tree.GroupEdit{Set: set, Remove: remove}))
}

func editGroup(ctx context.Context, location string, e tree.GroupEdit) error {
	l, err := locate.Parse(location)
	if err != nil {
		return err
	}
	if urlfile.IsURL(l.File) {
		return fmt.Errorf("%w: writing to a URL", errors.ErrUnsupported)
	}
	if info, err := os.Stat(l.File); err == nil && info.IsDir() {
		s, f, err := opener.Find(ctx, l.File, false)
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		if f.Part != nil { // only the file with the attributes is locked
			return editGroupIn(ctx, f, l, e)
		}
	}
	lock, format, err := opened.LockFormat(ctx, nil, locate.Location{File: l.File})
	if err != nil {
		return err
	}
	f, err := opener.All().Named(format)
	if err == nil {
		err = editGroupIn(ctx, f, l, e)
	}
	return errors.Join(err, lock.Release())
}

// editGroupIn changes the attributes of a group of a file with a known driver.
func editGroupIn(ctx context.Context, f *tree.Format, l locate.Location, e tree.GroupEdit) error {
	if f.EditGroup != nil {
		return f.EditGroup(ctx, l.File, l.Object, e)
	}
	t, err := opener.Open(ctx, f, tree.ByPath(l.File, f.Name), &tree.OpenOptions{})
	if err != nil {
		return err
	}
	_, err = t.GroupAttrs(ctx, l.Object) // an array has none
	if err = errors.Join(err, t.Close()); err != nil {
		return err
	}
	return tree.ReadOnlyGroup(f.Name)
}
