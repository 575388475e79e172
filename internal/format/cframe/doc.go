// Package cframe reads Blosc2 frames: files, or byte ranges of files, that contain many chunks,
// their index, and named metadata.
//
// # Functions
//
// [Read] opens a contiguous frame, which may be embedded in a larger file. [ReadDir] opens a sparse
// frame, which is a directory with one file per chunk. Both read header and trailer.
// [Frame.Offsets] reads the index, and [Frame.ReadChunk] reads one chunk.
//
// [Frame.Check] checks whether C-Blosc2 may open the frame, [Frame.CheckChunks] whether it may read
// every chunk, and [Frame.Array] whether it may use the frame as an n-dimensional array. [Describe]
// and [DescribeDir] annotate every byte.
//
// The specification is README_CFRAME_FORMAT.rst of C-Blosc2, section "Blosc2 Contiguous Frame
// Format". This package follows C-Blosc2 where the two differ. Offsets count from the end of the
// header, not from its beginning. The low half of codec_flags is a codec id, not the format number
// that the specification lists. The trailer begins with the plain byte 1. The comments on the
// fields contain the details and name the tests.
//
// # Memory
//
// Sizes in a frame are compared with the size of the input and with [Limits] before they determine
// an allocation. Chunks are read on demand.
//
// # Concurrency
//
// A Frame does not change after it is read. Its methods are safe for concurrent use if its reader
// is.
//
// # Errors
//
// Every error in the format is a *format.Error that wraps a sentinel of package format. Errors of
// the reader are wrapped as well.
package cframe
