// The driver, and the file as a tree of one array.

package npyfile

import (
	"context"
	"errors"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/npy"
)

// Format returns the driver. An untrusted file needs no check before it is opened: no library reads
// it, and opening it checks the header and the size.
func Format() tree.Format {
	return tree.Format{
		Name:  detect.NPY,
		Match: func(_ []byte, s *tree.Source) bool { return s.Is(detect.NPY) },
		Open: func(ctx context.Context, s *tree.Source, _ *tree.OpenOptions) (tree.Tree, error) {
			return &file{s}, ctx.Err()
		},
		CheckCreate: func(_ ndarray.Spec, o *tree.CreateOptions) error {
			if err := tree.CheckOne(detect.NPY, o.Path); err != nil {
				return err
			}
			return o.Check(tree.Creates{})
		},
		Create: func(file string, spec ndarray.Spec, _ *tree.CreateOptions) (ndarray.Backend, error) {
			return npy.Create(file, spec)
		},
	}
}

// file is an open file.
type file struct{ s *tree.Source }

func (f *file) Close() error { return f.s.Close() }

// Open opens the array.
func (f *file) Open(ctx context.Context, path string, o *tree.ArrayOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &tree.ArrayOptions{}
	}
	if err := errors.Join(f.s.Ready(ctx), tree.CheckOne(detect.NPY, path)); err != nil {
		return nil, err
	}
	if err := tree.CheckTyped(detect.NPY, o); err != nil {
		return nil, err
	}
	if o.Write {
		return npy.OpenWith(f.s.Path, &npy.OpenOptions{Write: true, Lock: o.Lock})
	}
	return npy.OpenReaderAt(f.s.File, f.s.Size, f.s.Name)
}

// Walk visits the array.
func (f *file) Walk(ctx context.Context, path string, o *tree.WalkOptions, visit tree.Visit) error {
	b, err := f.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	e, err := tree.Describe(ctx, "/", b)
	if err != nil {
		return err
	}
	return tree.Visitor(ctx, o, visit).Leaf(e)
}

// GroupAttrs returns an error.
func (f *file) GroupAttrs(ctx context.Context, _ string) (ndarray.Attrs, error) {
	return ndarray.Attrs{}, errors.Join(f.s.Ready(ctx), tree.NoGroups(detect.NPY))
}

// Metadata returns none: the header is the only metadata.
func (f *file) Metadata(ctx context.Context, path string) (tree.Metadata, error) {
	return tree.Metadata{}, errors.Join(f.s.Ready(ctx), tree.CheckOne(detect.NPY, path))
}
