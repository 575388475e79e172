package h5attr

import (
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Dense reports whether an object with these attributes must be created in a file with the lower
// bound V18, because the header of an object in the oldest format cannot store them, or only
// slowly. HDF5 1.8 and later read such files.
func Dense(attrs []ndarray.Attr) bool {
	const reference = 16 // to a string in the global heap
	largest, sparse := 0, false
	for _, a := range attrs {
		sparse = sparse || Sparse(a.Value.DType)
		largest = max(largest, len(a.Name)+len(a.Value.Data)+reference*len(a.Value.Strings))
	}
	return sparse || h5types.Dense(len(attrs), int64(largest))
}

// Sparse reports whether numbers of a type may leave most of their bits unused, which libhdf5
// accepts only in an object header of HDF5 1.8, which has a checksum.
func Sparse(d ndarray.DType) (found bool) {
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		found = found || p.Tag != "" && p.Kind != ndarray.Reference
		return p
	})
	return found
}
