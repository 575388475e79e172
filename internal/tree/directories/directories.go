// The driver, and the arrays of a directory.

package directories

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/carrays"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Format returns the driver.
func Format() tree.Format {
	return tree.Format{
		Name:  detect.Directory,
		Match: func(_ []byte, s *tree.Source) bool { return s.Is(detect.Directory) },
		Open: func(ctx context.Context, s *tree.Source, _ *tree.OpenOptions) (tree.Tree, error) {
			return &directory{s}, ctx.Err()
		},
		Part:      part,
		EditGroup: editGroup,
		CheckCreate: func(_ ndarray.Spec, o *tree.CreateOptions) error {
			if err := checkNamed(o.File, o.Path); err != nil {
				return err
			}
			return o.Check(tree.Creates{})
		},
		Target: newTarget,
	}
}

// checkNamed returns an error for the path of the root of a directory.
func checkNamed(dir, path string) error { return tree.CheckNamed("a directory holds", dir, path) }

// directory is an open directory. The arrays of an untrusted one are checked one by one.
type directory struct{ s *tree.Source }

var _ frames.Opener = (*directory)(nil)

// OpenFrame implements frames.Opener. It opens no sparse frame.
func (d *directory) OpenFrame(at string) (*stores.Frame, string, error) {
	if d.s.Trust != nil {
		return nil, "", nil
	}
	files, err := d.s.Files(context.Background())
	if err != nil {
		return nil, "", err
	}
	file, format, _, err := find(files, at)
	if format != detect.B2ND || err != nil {
		return nil, "", err
	}
	if info, err := fs.Stat(files, file); err != nil || !info.Mode().IsRegular() {
		return nil, "", err
	}
	x, err := files.Open(file)
	if err != nil {
		return nil, "", err
	}
	f, err := stores.NewFrame(x)
	return f, path.Ext(file), err
}

func (d *directory) Close() error { return d.s.Close() }

// source opens a file or directory below the root of the tree.
func source(ctx context.Context, s *tree.Source, file, format string) (*tree.Source, error) {
	x, err := s.Member(ctx, file, format)
	if err != nil {
		return nil, err
	}
	if err = x.Unknown(); err == nil && !x.Is(format) {
		err = fmt.Errorf("%w: %s has another format, want %s", ndarray.ErrFormat, path.Base(file), format)
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// part returns the source of the array at a path.
func part(s *tree.Source, at string) (*tree.Source, string, error) {
	if err := checkNamed(s.Name, at); err != nil {
		return nil, "", err
	}
	ctx := context.Background()
	files, err := s.Files(ctx)
	if err != nil {
		return nil, "", err
	}
	file, format, rest, err := find(files, at)
	if err != nil {
		return nil, "", err
	}
	x, err := source(ctx, s, file, format)
	if err == nil && s.Trust != nil {
		x.Name, x.Array = s.At(at), s.At(at)
	}
	return x, rest, err
}

// member opens a file or directory of a known format below the root as a tree.
func (d *directory) member(ctx context.Context, file, format string) (t tree.Tree, err error) {
	s, err := source(ctx, d.s, file, format)
	if err != nil {
		return nil, err
	}
	if format == detect.Bcolz {
		t, err = carrays.Open(ctx, s, nil)
	} else {
		t, err = frames.Open(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return t, nil
}

// find returns the file or the directory of bcolz with the array at a path.
func (d *directory) find(ctx context.Context, at string) (file, format, rest string, err error) {
	files, err := d.s.Files(ctx)
	if err != nil {
		return "", "", "", err
	}
	return find(files, at)
}

// Open opens the array at a path.
func (d *directory) Open(ctx context.Context, path string, o *tree.ArrayOptions) (ndarray.Backend, error) {
	if err := errors.Join(d.s.Ready(ctx), checkNamed(d.s.Name, path)); err != nil {
		return nil, err
	}
	file, format, rest, err := d.find(ctx, path)
	if err != nil {
		return nil, err
	}
	t, err := d.member(ctx, file, format)
	if err != nil {
		return nil, err
	}
	return tree.OpenArray(ctx, t, rest, o)
}

// GroupAttrs reads the attributes of a group: a directory, or a ctable and a group in it.
func (d *directory) GroupAttrs(ctx context.Context, path string) (attrs ndarray.Attrs, err error) {
	if err := d.s.Ready(ctx); err != nil {
		return attrs, err
	}
	files, err := d.s.Files(ctx)
	if err != nil {
		return attrs, err
	}
	if in, rest, ok := inBcolz(files, path); ok {
		t, err := d.member(ctx, in, detect.Bcolz)
		if err != nil {
			return attrs, err
		}
		attrs, err = t.GroupAttrs(ctx, rest)
		return attrs, errors.Join(err, t.Close())
	}
	dir, err := groupDir(files, path)
	if err == nil {
		return d.attrs(ctx, files, dir)
	}
	if _, array := arrayFile(files, path); array == nil {
		err = fmt.Errorf("%w: %s is an array, not a group", ndarray.ErrParam, tree.Root(path))
	}
	return attrs, err
}

// attrs reads the attributes of the group in a directory.
func (d *directory) attrs(ctx context.Context, files fs.FS, dir string) (attrs ndarray.Attrs, err error) {
	name := path.Join(dir, groupFile)
	if !exists(files, name) {
		return attrs, nil
	}
	t, err := d.member(ctx, name, detect.B2ND)
	if err != nil {
		return attrs, err
	}
	b, err := tree.OpenArray(ctx, t, "", nil)
	if err != nil {
		return attrs, err
	}
	attrs, err = tree.AttrsOf(ctx, b)
	return attrs, errors.Join(err, b.Close())
}

// Metadata reads the metadata of an array. A group has none except its attributes.
func (d *directory) Metadata(ctx context.Context, path string) (m tree.Metadata, err error) {
	if err := d.s.Ready(ctx); err != nil || tree.IsRoot(path) {
		return m, err
	}
	file, format, rest, err := d.find(ctx, path)
	if errors.Is(err, ndarray.ErrNotFound) {
		_, err := d.GroupAttrs(ctx, path)
		return m, err
	}
	if err != nil {
		return m, err
	}
	t, err := d.member(ctx, file, format)
	if err != nil {
		return m, err
	}
	m, err = t.Metadata(ctx, rest)
	return m, errors.Join(err, t.Close())
}
