//go:build cgo

// Package h5 is a thin binding of libhdf5: files, groups, links, datasets, datatypes, dataspaces,
// attributes.
//
// # Operations
//
// Each exported method is one operation of libhdf5. It makes one call to a C shim, which also
// returns the error stack. Lengths, regions and types are checked before libhdf5 is called. The
// package converts no values. A conversion of libhdf5 that may clamp, round or truncate a number
// returns ErrType, except in functions with Lossy in their name. Package h5/h5value does such
// conversions and returns ErrOverflow or ErrPrecision for a number that would change.
//
// Plugins are off: libhdf5 does not load code because a file names a filter. AllowPlugins enables
// plugins from the given directories.
//
// libhdf5 does not see the variables HDF5_* of the environment, for example HDF5_DRIVER,
// HDF5_VOL_CONNECTOR, HDF5_PLUGIN_PATH and HDF5_USE_FILE_LOCKING, because some load code and others
// change results. A program allows a variable by setting it before the first call:
//
//	os.Setenv(name, os.Getenv(name))
//
// Elements are transferred as bytes of a datatype in memory (Dataset.ReadRegion), as strings, or as
// Values, which can hold elements of every datatype. Package h5/h5value converts all of them to Go
// values. A Selection chooses the elements.
//
// # Memory
//
// A File owns every object opened through it. Closing the File closes its groups and datasets. Any
// use of a closed object returns ErrClosed. An unreachable object that was not closed is closed
// some time after the garbage collector finds it. If built with the tag invariants, the package
// reports on stderr where such a File was opened.
//
// Results are Go memory and belong to the caller. The package does not keep buffers passed to it. A
// conversion of libhdf5 needs about 1 MiB.
//
// # Concurrency
//
// All functions and methods may be called from any number of goroutines. libhdf5 runs one call at a
// time: one lock in this package covers all files of the process. It is held for one operation, and
// not while code of the caller runs, except filters and drivers written in Go (GoFilter,
// OpenReaderAt). The lock is not reentrant: a call from a filter or driver returns ErrReentrant,
// and code run by WithLock must not call this package. A filter or driver must not wait for another
// goroutine that calls this package, because that would be a deadlock.
//
// # Errors
//
// Every failure is an *Error with the operation, the object's path, the cause and, if libhdf5
// failed, its whole error stack (printed by %+v). errors.Is matches the sentinels of this package,
// and also fs.ErrNotExist, fs.ErrExist and fs.ErrPermission.
//
// # C version
//
// HDF5 2.2 or later; an older version does not compile. The first call compares the version of the
// headers with the library's and returns an error if they differ.
package h5
