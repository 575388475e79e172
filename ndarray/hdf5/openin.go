// A dataset in a file that is open already.

package hdf5

import (
	"errors"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// OpenIn opens the dataset called object in f, as Open does, and takes f over: Close of
// the Backend closes it, and an error has closed it. location is what messages call
// the dataset. The array is read-only if f is, whatever o says.
func OpenIn(f *h5.File, object, location string, o *OpenOptions) (*Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	b, err := open(f, object, location, o)
	if err != nil {
		return nil, errors.Join(ndarray.Wrap("open", location, Translate(err)), f.Close())
	}
	b.library, b.untrusted = o.Library, o.Untrusted
	b.meta.ReadOnly = f.Mode() == h5.ReadOnly
	return b, nil
}
