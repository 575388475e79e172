// Package guard checks bytes before a C library parses them.
//
// C-Blosc2 and libhdf5 access memory outside their buffers for some corrupt input. The bindings
// (cblosc, h5 and h5/filter) therefore pass such input to this package first, for every handle or
// chunk and also for trusted files. Package guard is the only one below the bindings that imports
// the readers of the formats (internal/format/...), and its results are plain values.
//
// Errors are those of the readers: a *format.Error, which wraps format.ErrCorrupt,
// format.ErrTruncated, format.ErrMagic, format.ErrVersion or format.ErrLimit, or
// errors.ErrUnsupported for input that is valid but that the libraries cannot or must not read.
// docs/defects.md lists the defects of the libraries, and docs/known-issues.md the decision about
// each guard.
package guard
