package h5errs

import (
	"errors"
	"io/fs"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Translate marks an error of libhdf5 with the matching sentinel of ndarray.
func Translate(err error) error {
	for _, t := range []struct{ is, mark error }{
		{h5.ErrNotHDF5, ndarray.ErrFormat},
		{h5.ErrNoFilter, errors.ErrUnsupported},
		{fs.ErrNotExist, ndarray.ErrNotFound},
	} {
		if errors.Is(err, t.is) {
			return errs.Mark(err, t.mark)
		}
	}
	return err
}
