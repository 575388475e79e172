// Package hdf5 is ndarray's backend for datasets in HDF5 files.
//
// # What
//
// Open and Create return a *Backend over one dataset and the file around it;
// Describe says what a dataset is without opening it as an array. Element types
// map both ways without loss (types.go); a dataset of any other type is refused
// with the type's name.
//
// Where a Spec is silent, chunks are ndarray.AutoChunks' choice and compression
// is deflate level 4 behind shuffle, which every HDF5 reader has. Datasets that
// cannot be chunked (scalar, null, or a fixed axis of length 0) are stored
// without compression.
//
// # Memory
//
// The library holds one decoded chunk for each call and a chunk cache of about
// 1 MiB for each open dataset; elements stored in the other byte order take a
// copy of one slab for each write.
//
// # Concurrency
//
// All methods may be called at the same time; libhdf5 runs one call at a time in
// the whole process. Large regions are read and written in slabs, so that others
// get their turn.
//
// # Errors
//
// Sentinels of ndarray; errors of the library are *h5.Error inside.
// errors.ErrUnsupported for element types that HDF5 or ndarray does not have, and
// for filters that are not there.
//
// # C version
//
// As package h5.
package hdf5
