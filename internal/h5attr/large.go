package h5attr

import "github.com/hyperslab/hyperslab/ndarray"

// maxCompactAttr is the size up to which an attribute always fits into an object header, whose
// messages have at most 64 KiB including name and type.
const maxCompactAttr = 32 << 10

// Large reports whether an attribute may be too large for an object header of the oldest
// format. A group or dataset that is created in a file with the lower bound V18 has a header that
// can store it elsewhere. HDF5 1.8 and later read such files.
func Large(a ndarray.Attr) bool {
	const reference = 16 // to a string in the global heap
	return len(a.Name)+len(a.Value.Data)+reference*len(a.Value.Strings) > maxCompactAttr
}
