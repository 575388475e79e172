// Package npy is the backend for files in NumPy's .npy format (NumPy Enhancement Proposal 1).
//
// # Overview
//
// A file contains one array: a header with shape and dtype, then all elements in one piece, without
// compression, chunks and attributes. Open reads versions 1 to 3 and both orders of axes. Create
// writes row-major files that numpy.load opens.
//
// # Memory
//
// A read needs at most 1 MiB in addition to its result. Files are not mapped.
//
// # Concurrency
//
// Any number of goroutines may use an array. Writes of different elements may run at the same
// time.
//
// # Errors
//
// ErrCorrupt is returned for a malformed header and a truncated file, and errors.ErrUnsupported for
// Python objects, which are pickled, and for properties that .npy cannot store.
package npy
