// Package hdf5 is ndarray's backend for datasets in HDF5 files.
//
// # Overview
//
// Open and Create return one dataset with its file, and every optional interface of ndarray.
// Describe returns the properties of a dataset without opening it as an array. Element types are
// converted in both directions without loss (types.go). A dataset of any other type returns an
// error with the type's name.
//
// A Compression contains one of Codecs. "shuffle" or "bitshuffle" (32008) may precede it, and
// "fletcher32" may follow it. The codecs "blosc/…", "blosc2/…" and "bitshuffle/…" are inside the
// filters 32001, 32026 and 32008, which rearrange bytes themselves. Chunks of Blosc2 are copied
// between HDF5 and b2nd without recompression.
//
// The default chunk shape is the shape of the dataset with its longest dimension halved until a
// chunk takes at most 1 MiB. The default compression is deflate level 4 after shuffle, which every
// HDF5 reader supports. Datasets that cannot be chunked (scalar, null, or a fixed dimension of
// length 0) are stored without compression.
//
// # Memory
//
// The memory of a call that moves chunks in workers is documented in package chunkio. For other
// calls libhdf5 holds one decoded chunk per call and a chunk cache of about 8 MiB per open dataset.
// For elements stored in the other byte order, each write copies one slab.
//
// # Concurrency
//
// All methods may be called at the same time. Workers (package chunkio) read and write regions of
// whole chunks or larger ones, as many as the call allows. They also read parts of compressed
// chunks of a file that is open for reading only. libhdf5 reads and writes other regions. It runs
// one call at a time in the whole process and caches decoded chunks for the next call.
// Large regions move in slabs, so that other calls can run in between. With OpenOptions.Library
// libhdf5 moves all elements. Storage reports why workers cannot be used.
//
// # Errors
//
// Errors are sentinels of ndarray; errors of libhdf5 are wrapped as *h5.Error. Element types that
// HDF5 or ndarray does not have, and missing filters, are errors.ErrUnsupported.
//
// # C version
//
// The same as of package h5.
package hdf5
