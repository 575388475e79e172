// Package cframe reads Blosc2 frames: files, or byte ranges of files, that hold
// many chunks, their index, and named metadata.
//
// # What
//
// [Read] opens a contiguous frame, also one embedded in a larger file, [ReadDir]
// a sparse one, which is a directory with a file for each chunk. Both read header
// and trailer; [Frame.Offsets] reads the index and [Frame.ReadChunk] one chunk.
// [Frame.Check] says whether C-Blosc2 may open the frame, [Frame.CheckChunks]
// whether it may read every chunk, [Frame.Array] whether it may use the frame as
// an n-dimensional array. [Describe] and [DescribeDir] annotate every byte.
//
// The document is README_CFRAME_FORMAT.rst of C-Blosc2, the section "Blosc2
// Contiguous Frame Format". Where it and the library disagree the library is
// right: offsets count from the end of the header, not from its beginning; the low
// half of codec_flags is a codec id, not the format number the document lists; the
// trailer begins with the plain byte 1. The comments on the fields say more, and
// the tests named there show it.
//
// # Memory
//
// A frame's sizes are compared with the size of the input and with [Limits]
// before they size an allocation. Chunks are read when asked for, never all at
// once.
//
// # Concurrency
//
// A Frame does not change after it is read; its methods are safe for concurrent
// use if its reader is.
//
// # Errors
//
// Every failure of the format is a *format.Error that wraps a sentinel of package
// format; failures of the reader are wrapped as well.
package cframe
