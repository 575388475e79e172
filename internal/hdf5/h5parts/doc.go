// Package h5parts finds and opens the other files that contain parts of an HDF5 file: members of
// the family, multi and split drivers, external files, and the source files of virtual datasets. It
// uses no C library.
package h5parts
