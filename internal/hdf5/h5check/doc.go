// Package h5check checks an untrusted HDF5 file before libhdf5 reads it.
//
// Package h5file parses and checks the metadata in Go. This package sets its policy: the filters
// that this module decodes, the limits of the caller, and the decoder for chunks whose elements
// refer to heaps.
package h5check
