//go:build cgo

// Package h5 is a thin binding of libhdf5: files, groups, links, datasets,
// datatypes, dataspaces, attributes.
//
// # What
//
// Each exported method is one operation of the library, done by one call into a
// C shim that also brings back the error stack. The package decides nothing for
// its caller, with one exception: no value changes silently. Lengths, regions and
// types are checked before the library is called, big-endian files read as the
// right numbers, and a conversion that would clamp, round or truncate a value is
// ErrOverflow or ErrPrecision unless a function with Lossy in its name is called.
//
// Plugins are off: the library loads no code because a file names a filter, until
// AllowPlugins names the folders.
//
// The library does not see the variables HDF5_* of the environment, for example HDF5_DRIVER,
// HDF5_VOL_CONNECTOR, HDF5_PLUGIN_PATH and HDF5_USE_FILE_LOCKING, because some load code and
// others change results. A program allows a variable by setting it before the first call:
// os.Setenv(name, os.Getenv(name)).
//
// Read and Write move elements of any datatype to and from the Go values that
// plan.go lists: numbers, strings, structs by `h5:"name"` tags, slices, Record where
// there is no struct. Which elements is a Selection.
//
// # Memory
//
// A File owns everything opened through it. Closing the File closes its groups
// and datasets; using them then is ErrClosed, as is any use after Close. What is
// forgotten is closed some time after the garbage collector finds it; built with
// the tag invariants, the package reports on stderr where a forgotten File was
// opened.
//
// Results are Go memory and belong to the caller. Buffers given to the package
// are not kept. A write takes about 1 MiB for conversions, and so does a read that
// cannot change a value; one that can, by ReadLossy too, takes what is stored once more
// (package chunkio reads in slabs), and so do writes by WriteLossy that the library
// would not round right, and of enumerations in another order of bytes.
//
// # Concurrency
//
// Everything may be called from any number of goroutines. libhdf5 runs one call
// at a time: one lock in this package covers every file of the process, is held
// for one operation and never while code of the caller runs, but for filters and
// drivers written in Go (GoFilter, OpenReaderAt). It is not reentrant: a call from
// those is ErrReentrant, and code run by WithLock must not call this package. A
// filter or driver that waits for another goroutine which does waits for ever.
//
// # Errors
//
// Every failure is an *Error with the operation, the object's path, what was
// wrong and, where the library failed, its whole error stack (printed by %+v).
// errors.Is finds the sentinels of this package, and fs.ErrNotExist,
// fs.ErrExist and fs.ErrPermission where they apply.
//
// # C version
//
// HDF5 2.2 or later; an older version does not compile. The first call compares the
// version of the headers with the library's and returns an error if they differ.
package h5
