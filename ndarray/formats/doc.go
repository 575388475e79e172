// Package formats opens and creates arrays by location. It is the only package that imports all
// backends of ndarray.
//
// # Overview
//
// A location is a file, or FILE:/path for an array inside an HDF5 file, a bcolz ctable or a
// directory of arrays. Open detects the format by content. Create chooses it by WithFormat or by
// the extension of the file name, and returns a Draft, which becomes the file only when it is
// committed. Walk lists the contents of a file or directory, and CopyTree copies all of it to
// another; directory.go documents the layout of directories.
//
// # Concurrency
//
// All functions may be called at the same time, and all methods of their results.
//
// # Errors
//
// Errors are sentinels of ndarray, in an *ndarray.Error with the location.
package formats
