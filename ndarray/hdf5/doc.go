// Package hdf5 is ndarray's backend for datasets in HDF5 files.
//
// # What
//
// Open and Create return a *Backend over one dataset and the file around it;
// Describe says what a dataset is without opening it as an array. Element types
// map both ways without loss (types.go); a dataset of any other type is refused
// with the type's name.
//
// A Compression names one of Codecs, behind "shuffle", "bitshuffle" (32008) or nothing,
// and before "fletcher32" or nothing. Those of "blosc/", "blosc2/" and "bitshuffle/" are
// codecs inside the filters 32001, 32026 and 32008, which rearrange by themselves; what
// Blosc2 makes passes between HDF5 and b2nd as it is.
//
// Where a Spec is silent, chunks are ndarray.AutoChunks' choice and compression
// is deflate level 4 behind shuffle, which every HDF5 reader has. Datasets that
// cannot be chunked (scalar, null, or a fixed axis of length 0) are stored
// without compression.
//
// # Memory
//
// A call that moves whole chunks holds what package chunkio says. Else the library
// holds one decoded chunk for each call and a chunk cache of about 1 MiB for each open
// dataset; elements stored in the other byte order take a copy of one slab for each
// write.
//
// # Concurrency
//
// All methods may be called at the same time. Regions of whole chunks and more are read
// and written by workers (package chunkio), as many as ndarray.Workers says. Others are
// left to libhdf5, which runs one call at a time in the whole process and keeps decoded
// chunks for the next one; large ones move in slabs, so that others get their turn.
// OpenOptions.Library leaves all to it, and Storage says where workers cannot.
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
