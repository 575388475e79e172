// Package format holds what the readers of file formats share: the annotated
// tree of fields and the error.
//
// # What
//
// The packages below it read the bytes of a storage format without any C
// library: format/chunk (Blosc and Blosc2 chunks), format/cframe (Blosc2
// frames), format/b2nd (the b2nd and Caterva metalayers), format/bcolz (bcolz
// directories). Each offers two views
// of the same bytes. Parse functions return Go values and stop at the first
// thing that is wrong. Describe functions return a [Field] tree that names every
// byte range, its value and its meaning, go on as far as the bytes allow, and
// attach a complaint to each thing that is wrong.
//
// The readers are independent of the C libraries on purpose: they check bytes
// from outside before a C library is given them, and they can be compared with
// it.
//
// # Memory
//
// Every size found in a file is compared with the length of the input, and with
// a documented limit, before it sizes an allocation. Work and memory are linear
// in the input.
//
// # Concurrency
//
// There is no package state. Values are safe for concurrent reads.
//
// # Errors
//
// A failed parse is an [*Error]: which format, what part, at which offset, what
// was found and what was expected, wrapping one of the sentinels.
package format
