package h5attr

import "github.com/hyperslab/hyperslab/ndarray"

// maxCompactAttr is the size up to which an attribute always fits into an object header, whose
// messages have at most 64 KiB including name and type.
const maxCompactAttr = 32 << 10

// NewHeader reports whether an attribute needs an object header of HDF5 1.8: it may be too large for
// one of the oldest format, or Sparse reports its type. A group or dataset that is created in a file
// with the lower bound V18 has such a header. HDF5 1.8 and later read these files.
func NewHeader(a ndarray.Attr) bool {
	const reference = 16 // to a string in the global heap
	return len(a.Name)+len(a.Value.Data)+reference*len(a.Value.Strings) > maxCompactAttr || Sparse(a.Value.DType)
}

// Sparse reports whether numbers of a type may leave most of their bits unused, which libhdf5
// accepts only in an object header with a checksum.
func Sparse(d ndarray.DType) (found bool) {
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		found = found || p.Tag != "" && p.Kind != ndarray.Reference
		return p
	})
	return found
}
