// Package h5objects copies objects of any number of HDF5 files to one HDF5 file, without
// decompression. The objects of one source file are copied together, so that references and links
// between them are kept.
package h5objects
