// Arrays in new and existing containers of python-blosc2.

package draft

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/containers"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// addStored starts an array in an existing .b2d, or the first array of a new one.
func addStored(ctx context.Context, l locate.Location, spec ndarray.Spec, o Options, location string) (*Draft, error) {
	create := !regularfile.Exists(l.File)
	if create && o.Format != detect.B2D {
		return nil, fmt.Errorf("%w: one array in a new %s; a new container other than a %s is written from a tree", errors.ErrUnsupported, o.Format, detect.B2D)
	}
	if err := b2nd.Check(spec); err != nil {
		return nil, err
	}
	var out *atomicfile.Output
	var file string
	var err error
	if create {
		out, file, err = newStored(ctx, l)
	} else if out, err = stores.Add(ctx, o.Lock, l.File, o.Format, tree.Root(l.Object), b2store.ArrayExt, o.Overwrite); err == nil {
		file = out.Path()
	}
	if err != nil {
		return nil, err
	}
	a, err := tree.NewArray(b2nd.Create(file, spec, &b2nd.CreateOptions{Name: location, Library: o.Library}))
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return &Draft{Array: a, location: location, out: out}, nil
}

// newStored starts a .b2d with one array, whose file it returns.
func newStored(ctx context.Context, l locate.Location) (_ *atomicfile.Output, file string, err error) {
	key := tree.Root(l.Object)
	if key == "/" {
		return nil, "", fmt.Errorf("%w: a path in the store: got /, want that of an array", ndarray.ErrParam)
	}
	if err := b2store.CheckKey(key); err != nil {
		return nil, "", err
	}
	out, err := atomicfile.Create(ctx, l.File, atomicfile.Options{})
	if err != nil {
		return nil, "", err
	}
	if file, err = containers.Start(out.Path(), key); err != nil {
		return nil, "", errors.Join(err, out.Abort())
	}
	return out, file, nil
}
