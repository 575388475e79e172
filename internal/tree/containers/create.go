// Arrays in new stores.

package containers

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

func checkCreate(spec ndarray.Spec, o *tree.CreateOptions) error {
	if err := o.Check(tree.Creates{}); err != nil {
		return err
	}
	if !o.Exists && o.Format != detect.B2D {
		return fmt.Errorf("%w: one array in a new %s; a new container other than a %s is written from a tree", errors.ErrUnsupported, o.Format, detect.B2D)
	}
	if err := b2nd.Check(spec); err != nil || o.Exists {
		return err
	}
	key := tree.Root(o.Path)
	if key == "/" {
		return fmt.Errorf("%w: a path in the store: got /, want that of an array", ndarray.ErrParam)
	}
	return b2store.CheckKey(key)
}

// create creates a .b2d.
func create(dir string, spec ndarray.Spec, o *tree.CreateOptions) (ndarray.Backend, error) {
	files := dirFiles{dir}
	if err := writeEmbed(files); err != nil {
		return nil, err
	}
	file, err := files.Begin(tree.Root(o.Path), b2store.ArrayExt)
	if err != nil {
		return nil, err
	}
	return b2nd.Create(file, spec, &b2nd.CreateOptions{Name: o.Name, Library: o.Library})
}
