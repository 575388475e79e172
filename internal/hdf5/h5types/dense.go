package h5types

// maxInHeader and manyInHeader are the maximum size and number of attributes in an object header.
// A message of a header has at most 64 KiB including the name, type and shape of the attribute, and
// libhdf5 compares the name of each new attribute with all others in the header.
const (
	maxInHeader  = 32 << 10
	manyInHeader = 500
)

// Dense reports whether an object must be created in the format of HDF5 1.8, which can store
// attributes outside of the object header (dense storage). n is the number of its attributes, and
// largest the size of the largest one in bytes.
func Dense(n int, largest int64) bool { return n > manyInHeader || largest > maxInHeader }
