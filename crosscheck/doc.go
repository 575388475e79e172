// Package crosscheck is a kit for authors of other readers and writers of Blosc2,
// Caterva, bcolz and HDF5, in Go or in any language: the reference libraries'
// answers as files, and a judge.
//
// # What
//
// Emit writes a corpus of vectors and a manifest. A vector is a file made by a
// reference library, with the digest of what it decodes to, the metadata a reader
// must see, and the section of the specification it exercises; or a file with one
// rule broken, which a reader must refuse. The bytes depend on the library
// versions and on nothing else: two emits are identical.
//
// Run judges a program over such a corpus, under limits of time and memory:
// pass, wrong, refused, crash, hang, wrongly accepted. Reader and Codec do the same
// for Go functions inside a test. A wrong answer is explained: Explain compares it
// with the reference stage by stage, names the first byte, the element, the chunk,
// the block, the stream and the filter, and, where one misread rule gives exactly
// these bytes, that rule with the sentence of the specification.
//
// # Decoded bytes
//
// A chunk or a frame decodes to its bytes. An array decodes to its elements in
// row-major order, in the byte order that its dtype names; an element of variable
// length is its length in bytes as 4 bytes, little-endian, and the bytes.
// docs/crosscheck-manifest.md says what references, groups and the rest decode to.
//
// # Concurrency
//
// Functions may be called by any number of goroutines; an Emit owns its folder.
package crosscheck
