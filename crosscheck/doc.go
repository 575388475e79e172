// Package crosscheck is a conformance kit for authors of other readers and writers of Blosc2,
// Caterva, bcolz, HDF5 and the containers of python-blosc2 in any language. It provides the
// reference libraries' results as files, and a runner that compares results with them.
//
// # Overview
//
// Emit writes a corpus of vectors and a manifest. A vector is a file made by a reference library,
// with the digest of the decoded data, the expected metadata, and the section of the specification
// that it exercises; or a file that violates one rule, which a reader must refuse. The bytes depend
// only on the versions of the libraries: two emits are identical.
//
// Run runs a program on such a corpus, under limits of time and memory, and classifies the results:
// pass, wrong, refused, crash, hang, wrongly accepted. Reader and Codec do the same for Go
// functions in a test. Explain compares a wrong result with the reference stage by stage. It
// reports the first differing byte, the element, the chunk, the block, the stream and the filter.
// If one misread rule gives exactly these bytes, it reports that rule with the sentence of the
// specification.
//
// # Decoded bytes
//
// A chunk or a frame decodes to its bytes. An array decodes to its elements in row-major order, in
// the byte order of its dtype. An element of variable length decodes to its length in bytes (4
// bytes, little-endian) and the bytes. docs/crosscheck-manifest.md defines the decoded form of
// references, groups and other objects.
//
// # Concurrency
//
// Functions are safe for concurrent use. Each call of Emit needs its own directory.
package crosscheck
