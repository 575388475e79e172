//go:build cgo

// Package filter is the filters of HDF5 as codecs: from a buffer to a buffer, on
// any number of goroutines, outside the lock of libhdf5.
//
// # What
//
// [Decode] and [Encode] are one filter. A [Pipeline] is the filters of one dataset:
// it turns the stored bytes of a chunk into its elements and back, with the rules
// of the library for filter masks, optional filters and checksums.
//
// deflate (1), shuffle (2), Fletcher32 (3), szip (4), bzip2 (307), LZF (32000),
// Blosc (32001), LZ4 (32004), bitshuffle (32008), Zstandard (32015) and Blosc2
// (32026) are here; N-bit (5) and scale-offset (6) are only in the library.
// Importing the package registers those with libhdf5 that it does not bring along,
// so that every dataset of package h5 has them.
//
// Deflate is done by libdeflate, whose streams other zlibs read but do not write;
// [Options.Exact] asks for zlib's own. Blosc's streams are those of its plug-in too,
// under a header made here; with Exact the library makes all of it, under a lock. The
// other encoders of C write what the plug-ins of those numbers write, if the versions
// of the codecs are the same.
//
// # Memory
//
// Codecs keep tables and scratch of a few chunks for each goroutine that uses them
// at the same time; what is idle is given back by the garbage collector. Buffers of
// the caller are used during a call only, and no result is longer than the buffer
// for it, whatever the data claim.
//
// # Concurrency
//
// Everything may be called from any number of goroutines. A Pipeline does not
// change.
//
// # Errors
//
// Every failure is an [*Error] with the filter, and wraps a sentinel of package h5:
// ErrCorrupt for data that are no stream of the filter ([ErrChecksum] where a
// checksum says so), ErrSize for a buffer that is too short, ErrParam for
// parameters (cd_values) that make no sense, or an [*h5.FilterError], which is
// ErrNoFilter.
//
// # C version
//
// That of package h5 and of the codecs in third_party/VERSIONS. Blosc and Blosc2
// are package cblosc's.
package filter
