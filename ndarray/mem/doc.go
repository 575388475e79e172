// Package mem is the backend in memory: one row-major buffer of Go memory.
//
// # Overview
//
// The backend supports every property of a Spec. It is therefore the model against which the other
// backends are tested. It is also useful for results that need no file. The chunk shape is part of
// Meta, where Copy uses it, but does not change the memory layout.
//
// # Memory
//
// New allocates all elements; attributes need additional memory.
//
// # Concurrency
//
// Reads and writes may run at the same time, also on the same elements. A read sees all of a write
// or no part of it.
//
// # Errors
//
// ErrShape is returned for an array larger than any address space, and ErrNotFound for a missing
// attribute.
package mem
