//go:build cgo

// Package filter implements the HDF5 filters as codecs that convert one buffer to another. They run
// on any number of goroutines, outside the lock of libhdf5.
//
// # Overview
//
// A [Pipeline] contains the filters of one dataset, and [Decode] reverses one filter. A Pipeline
// converts the stored bytes of a chunk to elements and back, with libhdf5's rules for filter masks,
// optional filters and checksums.
//
// The package implements deflate (1), shuffle (2), Fletcher32 (3), szip (4), bzip2 (307), LZF
// (32000), Blosc (32001), LZ4 (32004), bitshuffle (32008), Zstandard (32015) and Blosc2 (32026).
// N-bit (5) and scale-offset (6) are only in libhdf5. Importing the package registers with libhdf5
// the filters that it does not have, so that all datasets of package h5 can use them.
//
// Deflate uses libdeflate, whose streams differ from zlib's but can be read by every zlib.
// [Options.Exact] selects zlib. Blosc streams are the same as the plug-in's, but with a header made
// by package cblosc; with Exact C-Blosc2 makes the whole chunk, under a lock. The other encoders in
// C write the same bytes as the plug-ins with those numbers, if the versions of the codecs are the
// same.
//
// # Memory
//
// Codecs keep tables and scratch buffers of a few chunks for each goroutine that uses them at the
// same time. The garbage collector frees idle ones. The caller's buffers are used only during a
// call. A result is never longer than its buffer, whatever size the data contain.
//
// # Concurrency
//
// All functions may be called from any number of goroutines. A Pipeline is immutable.
//
// # Errors
//
// Every error is an [*Error] with the filter and wraps an error of package h5: ErrCorrupt for
// invalid data ([ErrChecksum] for a wrong checksum), ErrSize for a buffer that is too short,
// ErrParam for invalid parameters (cd_values), or an [*h5.FilterError], which is ErrNoFilter.
//
// # C version
//
// The versions of package h5 and of the codecs in third_party/VERSIONS. Blosc and Blosc2 are
// provided by package cblosc.
package filter
