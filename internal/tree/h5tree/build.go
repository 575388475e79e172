// New files with many arrays.

package h5tree

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// builder is a new file.
type builder struct {
	f *h5.File
	w *h5copy.Writer
}

// build creates a file.
func build(file string) (tree.Builder, error) {
	creation := h5.DefaultFileCreation()
	creation.Times = false
	f, err := h5copy.CreateFile(file, h5.CreateOptions{Creation: &creation}, false)
	if err != nil {
		return nil, err
	}
	return &builder{f, h5copy.NewWriter(f)}, nil
}

// Group implements tree.Builder.
func (b *builder) Group(path string, attrs []ndarray.Attr) (err error) {
	for _, a := range attrs {
		if err := errors.Join(a.Validate(), hdf5.CheckAttr(a)); err != nil {
			return err
		}
	}
	root, dense := b.f.Root(), h5attr.Dense(attrs)
	if tree.IsRoot(path) {
		if dense {
			return fmt.Errorf("%w: attributes of the root of a new file that only HDF5 1.8 can store", errors.ErrUnsupported)
		}
		return hdf5.WriteAttrs(root, attrs)
	}
	g, err := b.w.Group(root, path, nil, dense)
	if err != nil {
		return err
	}
	if err = errors.Join(hdf5.WriteAttrs(g, attrs), g.Close()); err != nil {
		err = errors.Join(err, root.Unlink(path))
	}
	return err
}

// Array implements tree.Builder.
func (b *builder) Array(path, name string, spec ndarray.Spec) (ndarray.Backend, error) {
	a, err := hdf5.CreateIn(b.f, path, spec, &hdf5.CreateOptions{Name: name})
	if err == nil {
		return a, nil
	}
	err = tree.WithoutPath(err)
	if made, herr := b.f.Root().HasLink(path); made || herr != nil {
		err = errors.Join(err, herr, b.f.Root().Unlink(path))
	}
	return nil, err
}

// Scales implements tree.Builder.
func (b *builder) Scales(path string, axes []dimscale.Axis) error {
	return dimscale.Attach(b.f.Root(), path, axes)
}

// Close implements tree.Builder.
func (b *builder) Close() error { return b.f.Close() }
