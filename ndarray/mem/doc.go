// Package mem is the backend in memory: one row-major buffer of Go memory.
//
// # What
//
// It holds everything a Spec can say, so it is the model that the other backends
// are tested against, and the place for results that need no file. A chunk shape
// is kept as a fact (it guides Copy) and changes nothing in the layout.
//
// # Memory
//
// All elements, from New on, plus the attributes.
//
// # Concurrency
//
// Reads and writes may run at the same time, on the same elements too: a read
// sees a write whole or not at all.
//
// # Errors
//
// ErrShape for an array that no address space holds, ErrNotFound for an
// attribute that is not there.
package mem
