// OpenIn opens a dataset in a file that is already open.

package hdf5

import (
	"cmp"
	"errors"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// OpenIn opens the dataset with that name in the group parent, or with that absolute path in its
// file, like Open. It takes ownership of the file, unless o.Shared is set: Close of the array
// closes the file, and OpenIn closes it if it returns an error. location is the name of the dataset
// in messages. The array is read-only if the file is, regardless of o.Write.
func OpenIn(parent *h5.Group, name, location string, o *OpenOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	f := parent.File()
	b, err := open(parent, cmp.Or(name, "/"), location, o)
	if err != nil {
		err = ndarray.Wrap("open", location, err)
		if !o.Shared {
			err = errors.Join(err, f.Close())
		}
		return nil, err
	}
	b.shared = o.Shared
	b.library, b.untrusted = o.Library, o.Untrusted
	b.meta.ReadOnly = f.Mode() == h5.ReadOnly
	if !b.meta.ReadOnly {
		err := b.setLossy(parent, cmp.Or(name, "/"), o.AllowLossy)
		if err != nil && !o.Shared {
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return nil, ndarray.Wrap("open", location, err)
		}
	}
	b.striped.allowed = b.files.virtual && b.meta.ReadOnly && !o.Library && !o.Untrusted && o.Missing == nil
	return b, nil
}
