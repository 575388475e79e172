// Package hdf5 reads the metadata of HDF5 files, and their raw data as stored.
//
// # What
//
// [Open] reads the superblock of a file and what belongs to it. [File.Root],
// [File.Object] and [File.Walk] read object headers with all their messages as Go
// values; [Object.Links], [Object.Attributes], [Object.Chunks] and
// [Object.Mappings] read what a group, an object or a dataset consists of, by
// whatever index it is stored. [File.Check] says whether libhdf5 may see the file.
// [Describe] annotates every byte of every structure.
//
// All structures of HDF5 1.14 are read: superblocks 0 to 3, object headers 1 and 2,
// every message, both kinds of B-trees, local, global and fractal heaps, free-space
// managers, shared messages, all chunk indexes, virtual datasets, the metadata cache
// image, and those of HDF5 2.0: layouts and datatypes of version 5, and virtual mappings
// of version 1. Chunks of 4 GiB or more are format.ErrLimit.
//
// The document is the HDF5 File Format Specification, whose sections the comments
// name. Where it and the library disagree the library is right;
// docs/hdf5-differences.md lists where, and docs/hdf5-coverage.md which file shows
// each field.
//
// # Damaged files
//
// Values are read as far as the bytes allow: Object, Root, Walk, Links and the rest
// return what there is beside the error. So a file that the library refuses can
// still be looked through.
//
// # Memory
//
// A size in the file is compared with the size of the input and with [Limits]
// before it sizes an allocation. An operation reads no more than the file's size a
// few times over, whatever the file says, and ends: what must be a tree is reached
// once. Links, attributes and chunks are read as they are asked for.
//
// # Concurrency
//
// A File and its Objects do not change; their methods are safe for concurrent use
// if the reader is.
//
// # Errors
//
// Every failure of the format is a *format.Error with the structure, the place in
// the file, and both what was found and what was wanted. It wraps a sentinel of
// package format: ErrMagic, ErrVersion, ErrTruncated, ErrCorrupt, ErrLimit, or
// ErrUnsupported for what a Policy does not allow. Failures of the reader are
// wrapped as well.
package hdf5
