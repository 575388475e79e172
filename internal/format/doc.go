// Package format contains the types that the readers of file formats share: the annotated tree of
// fields and the error.
//
// # Packages
//
// The packages below it read the bytes of a storage format without any C library:
// internal/format/chunk (Blosc and Blosc2 chunks), internal/format/cframe (Blosc2 frames),
// internal/format/b2ndmeta (the b2nd and Caterva metalayers), internal/format/bcolztree (bcolz
// directories) and internal/format/h5file (HDF5 files). Each offers two views of the same bytes.
// Parse functions (Open in internal/format/h5file) return Go values and stop at the first error.
// Describe functions return a [Field] tree with every byte range, its value and its meaning. They
// continue after errors as far as possible and attach a complaint to each.
//
// The readers are independent of the C libraries, because they must check untrusted bytes before a
// C library reads them. Tests also compare their results with those of the C libraries.
//
// # Memory
//
// Every size in a file is compared with the length of the input, and with a documented limit,
// before it determines an allocation. Work and memory are linear in the input.
//
// # Concurrency
//
// There is no package state. Values are safe for concurrent reads.
//
// # Errors
//
// A failed parse returns an [*Error]. It contains the format, the part, the offset, the actual and
// the expected value, and wraps one of the sentinels.
package format
