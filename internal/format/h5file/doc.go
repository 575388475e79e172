// Package h5file reads the metadata of HDF5 files, and their raw data as stored.
//
// # Functions
//
// [Open] reads the superblock of a file with its extension. [File.Root], [File.Object] and
// [File.Walk] read object headers with all their messages as Go values. [Object.Links],
// [Object.Attributes], [Object.Chunks] and [Object.Mappings] read the contents of groups, objects
// and datasets from all types of index. [File.Check] checks whether the file is safe for libhdf5.
// [Describe] annotates every byte of every structure.
//
// The package supports all structures of HDF5 1.14: superblocks 0 to 3, object headers 1 and 2,
// every message, both kinds of B-trees, local, global and fractal heaps, free-space managers,
// shared messages, all chunk indexes, virtual datasets, and the metadata cache image. It also
// supports those of HDF5 2.0: layouts and datatypes of version 5, and virtual mappings of version
// 1. Chunks of 4 GiB or more are format.ErrLimit.
//
// The specification is the HDF5 File Format Specification, and comments refer to its sections.
// Where it and libhdf5 differ, the package follows libhdf5. docs/hdf5-differences.md lists the
// differences, and coverage.md lists a file for each field.
//
// # Corrupt files
//
// Values are read as far as possible: Object, Root, Walk, Links and the other functions return the
// readable part together with the error. For example, a file that libhdf5 refuses can still be
// listed.
//
// # Memory
//
// A size in the file is compared with the size of the input and with [Limits] before it determines
// an allocation. The bytes that an operation reads are limited to a small multiple of the file's
// size. Every operation terminates, because the nodes of a tree must not be reached twice. Links,
// attributes and chunks are read on demand.
//
// # Concurrency
//
// A File and its Objects are immutable. Their methods are safe for concurrent use if the reader is.
//
// # Errors
//
// Every error in the format is a *format.Error with the structure, the offset in the file, and the
// actual and expected value. It wraps a sentinel of package format: ErrMagic, ErrVersion,
// ErrTruncated, ErrCorrupt, ErrLimit, or ErrUnsupported for features that a Policy does not allow.
// Errors of the reader are wrapped as well.
package h5file
