// Package ndarray is one array type over every storage format: the same verbs
// and the same results whatever lies beneath.
//
// # What
//
// An Array has a Meta (shape, chunk shape, element type, fill value,
// compression), elements that are read and written by Region, and attributes.
// Behind it stands a Backend: ndarray/mem, ndarray/b2nd or ndarray/hdf5. This
// package knows none of them; ndarray/formats knows all and opens by location.
//
// The element type is a fact of the file, so there is no Array[T]. Bytes move in
// this machine's byte order whatever the order in storage is, and typed slices
// stand at the edge: Read, ReadAll and Write take a slice of exactly the
// element's Go type. Nothing is converted silently.
//
// Copy moves elements between any two arrays, Compare says where two differ;
// both work on chunks, in parallel, in bounded memory.
//
// # Memory
//
// Read and Write use the caller's buffer and keep nothing. Copy and Compare hold
// as many bytes as their options allow.
//
// # Concurrency
//
// All methods of an Array may be called at the same time. Two writes that touch
// the same chunk must not run at once. Close waits for running calls.
//
// # Errors
//
// Every error is an *Error with the operation and the path. Match the sentinels
// (ErrClosed, ErrSize, ErrRegion, …) with errors.Is. What a backend cannot do is
// errors.ErrUnsupported.
package ndarray
