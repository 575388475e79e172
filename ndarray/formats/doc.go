// Package formats opens and creates arrays by location. It is the one place that
// knows all backends of ndarray.
//
// # What
//
// A location is a file, or FILE:/path for an array inside an HDF5 file, a bcolz
// ctable or a directory of arrays. Open finds the format by content; Create chooses
// it by the file's extension or as it is told, and returns a Draft, which becomes the
// file only when it is committed. Walk lists what is in a file or directory, and
// CopyTree copies all of it to another; directory.go has the layout of directories.
//
// # Concurrency
//
// All functions may be called at the same time, and all methods of what they
// return.
//
// # Errors
//
// Sentinels of ndarray, in an *ndarray.Error with the location.
package formats
