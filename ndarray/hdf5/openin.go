// OpenIn opens a dataset in a file that is already open.

package hdf5

import (
	"errors"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/h5errs"
	"github.com/hyperslab/hyperslab/ndarray"
)

// OpenIn opens the dataset called object in f, like Open. It takes ownership of f, unless o.Shared
// is set: Close of the array closes f, and OpenIn closes it if it returns an error. location is
// the name of the dataset in messages. The array is read-only if f is, regardless of o.Write.
func OpenIn(f *h5.File, object, location string, o *OpenOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	b, err := open(f, object, location, o)
	if err != nil {
		err = ndarray.Wrap("open", location, h5errs.Translate(err))
		if !o.Shared {
			err = errors.Join(err, f.Close())
		}
		return nil, err
	}
	b.shared = o.Shared
	b.library, b.untrusted = o.Library, o.Untrusted
	b.meta.ReadOnly = f.Mode() == h5.ReadOnly
	b.striped.allowed = b.files.virtual && b.meta.ReadOnly && !o.Library && !o.Untrusted && o.Missing == nil
	return b, nil
}
