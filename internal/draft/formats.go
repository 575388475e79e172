// The backends of new files, by format.

package draft

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/npy"
)

// backend creates the array at a path of a new file.
func (o *Options) backend(file, path string, spec ndarray.Spec, location string) (ndarray.Backend, error) {
	switch o.Format {
	case detect.B2ND, detect.Caterva:
		return o.frame(file, spec, location)
	case detect.Bcolz:
		return carray(file, spec, location)
	case detect.NPY:
		return npy.Create(file, spec)
	case detect.HDF5:
		return hdf5.Create(file, path, spec, o.hdf5(location))
	}
	return nil, fmt.Errorf("%w: format %q", ndarray.ErrParam, o.Format)
}

// frame creates a b2nd or Caterva array.
func (o *Options) frame(file string, spec ndarray.Spec, location string) (ndarray.Backend, error) {
	if o.Plain {
		return b2nd.Create(file, spec, &b2nd.CreateOptions{Plain: true, Name: location})
	}
	return b2nd.Create(file, spec, &b2nd.CreateOptions{Sparse: o.Sparse, Caterva: o.Format == detect.Caterva, Name: location, Library: o.Library})
}

// carray creates a carray, or a ctable for structures of one dimension.
func carray(file string, spec ndarray.Spec, location string) (ndarray.Backend, error) {
	x := &bcolz.CreateOptions{Name: location}
	if spec.DType.Kind == ndarray.Struct && len(spec.Shape) == 1 {
		return bcolz.CreateRecords(file, spec, x)
	}
	return bcolz.Create(file, spec, x)
}
