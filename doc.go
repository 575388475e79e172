// Package hyperslab opens, creates, lists, copies and changes arrays in Blosc2, Caterva, bcolz and
// HDF5 files.
//
// # Overview
//
// A location is a file, or FILE:/path for an array inside an HDF5 file, a bcolz ctable or a
// directory of arrays. Open detects the format by content. Create chooses it by
// CreateOptions.Format or by the extension of the file name, and returns a Draft, which becomes the
// file only when it is committed. Walk lists the contents of a file or directory, CopyTree copies
// all of it to another, and Update changes a file atomically; directory.go documents the layout of
// directories. The elements of an array are read and written by package ndarray.
//
// # Concurrency
//
// All functions may be called at the same time, and all methods of their results.
//
// # Errors
//
// Errors are sentinels of ndarray, in an *ndarray.Error with the location. For untrusted files they
// are also ErrLimit, ErrUnavailable and ErrCrashed.
package hyperslab
