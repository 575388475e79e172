// Package frameio is the fast path for Blosc2 frames: concurrent reads of one open file without a
// lock, and frames of many chunks written at once. It contains no C code: contexts come from
// package cblosc, formats from the packages under format.
//
// # Reading and writing
//
// The library reads a frame through one handle, one call at a time, and opens the file again for
// each chunk. [Open] reads header, index and trailer once. After that a chunk needs one read of the
// file and one call of a context, which decodes directly into the caller's memory
// ([Frame.Decompress], [Frame.ReadAll], [Frame.Items]). [OpenArray] does the same for regions of
// b2nd and Caterva arrays ([Array.ReadRegion]). The chunks of a region are divided among workers.
// Where it saves work, only the blocks that the region touches are read and decoded. Go copies
// their elements.
//
// The library compresses the whole index again for each chunk that it appends. A [Writer]
// compresses chunks in parallel and writes header, index and trailer once. The frame is byte for
// byte the same as the library's. It appears at its path complete or not at all. [Append] writes
// the new end of an existing frame in the same way or, with Durable, after the old end. A durable
// append that is stopped at any moment leaves the old frame or the new one. It leaves the old index
// in the file as dead bytes, and so do replaced and deleted chunks. [Compact] removes them.
//
// [WriteArray] does the same for whole chunks of a b2nd array. Workers split regions into blocks
// and compress them, compressed chunks are copied without recompression, and the first axis can
// grow, also durably.
//
// The library is the reference for reads too: this package returns the same bits as package cblosc,
// with two exceptions. Uninitialized values are read as zeros. Regions and items of data with the
// filter Delta are correct, while C-Blosc2 2.17.1 returns wrong ones.
//
// # Memory
//
// A Frame keeps its index, 12 bytes per chunk, and one worker for each goroutine that has read at
// the same time, at most 64. A worker has a context and two buffers of at most 64 KiB. Larger
// buffers, for a compressed chunk and for values that cannot be decoded in place, belong to the
// process: all concurrent reads of all frames together use at most the limit of
// ndarray.SetReadMemory, and a read waits until its chunk fits. A chunk above the limit is read
// alone. [Limits] bounds the values of one chunk. An io.ReaderAt or fs.FS of a frame must not read
// through this module itself, because that read may wait for the memory of the first. A Writer
// keeps 8 bytes per chunk. For each worker it keeps a context, about 1 MiB of values, or one chunk
// if that is more, and as much compressed data. Close frees the contexts; without Close the garbage
// collector frees them.
//
// # Concurrency
//
// All methods of a Frame and an Array may be called concurrently, including Close. Those of a
// Writer wait for one another. Workers are goroutines of a call and end before it returns.
//
// # Errors
//
// A failed call returns an *Error with the operation, the path and the chunk. It wraps the
// sentinels of package cblosc (ErrFormat, ErrSize, ErrRegion, ErrClosed and, for a Writer,
// ErrParam, ErrLimit, ErrExists, ErrBroken), those of package format for invalid bytes,
// fs.ErrNotExist, or errors.ErrUnsupported. Frames and chunks are checked in Go before a context of
// the library reads them.
//
// # C version
//
// The version is that of package cblosc, whose notes on environment variables also apply. A Writer
// writes the bytes of C-Blosc2 2.17.
package frameio
