// Package frameio is the fast path over Blosc2 frames: reads by any number of
// goroutines on one open file, without a lock, and frames of many chunks written at
// once. It has no C of its own; contexts come from package cblosc, formats from the
// packages under format.
//
// # What
//
// The library reads a frame through one handle, one call at a time, and opens the
// file anew for each chunk. [Open] reads header, index and trailer once; then a
// chunk costs one read of the file and one call of a context, straight into the
// caller's memory ([Frame.Decompress], [Frame.ReadAll], [Frame.Items]). [OpenArray]
// does the same for regions of b2nd and Caterva arrays ([Array.ReadRegion]): the
// chunks of a region are shared out to workers, only the blocks that it touches
// are read and decoded where that pays, and their elements are put in place in Go.
//
// The library compresses the whole index again for each chunk that it appends. A
// [Writer] compresses chunks in parallel and writes header, index and trailer once;
// the frame is byte for byte the one that the library writes chunk by chunk. It
// appears at its path whole or not at all. [Append] writes the end of a frame that
// is there in the same way, or, durably, behind the old end, so that a stop at any
// moment leaves the old frame or the new one.
//
// WriteArray does the same for whole chunks of a b2nd array: regions are cut into
// blocks and compressed by workers, chunks pass as they are, and the first axis can
// grow, durably too.
//
// The library is the oracle of reads as well: what is read here is what package
// cblosc reads, bit for bit, but for two things. Values that a chunk calls
// uninitialized are zeros here. Regions and items of data behind the filter Delta
// are right here, while C-Blosc2 2.17.1 returns wrong ones (TestDeltaRegions,
// TestDeltaItems).
//
// # Memory
//
// A Frame keeps its index, 12 bytes for each chunk, and for each goroutine that
// ever read at the same time, 64 at most, a context, the longest compressed chunk it met, and,
// if it met a chunk that could not be decoded in place, the values of one chunk or
// block, which [Limits] bounds. A Writer keeps 8 bytes for each chunk, and for each
// worker a context and about 1 MiB, or one chunk if that is more, of values and as
// much compressed. Close frees the contexts; without it the garbage collector does.
//
// # Concurrency
//
// All methods of a Frame and an Array may be called at the same time, Close
// included. Those of a Writer wait for one another. Workers are goroutines of the
// call and are gone when it returns.
//
// # Errors
//
// Everything that fails returns an *Error with the operation, the path and the
// chunk. It wraps the sentinels of package cblosc (ErrFormat, ErrSize, ErrRegion,
// ErrClosed and, for a Writer, ErrParam, ErrLimit, ErrExists, ErrBroken), those of package format for bytes that are wrong, fs.ErrNotExist, or
// errors.ErrUnsupported. Frames and chunks are checked in Go before a context of
// the library sees them.
//
// # C version
//
// That of package cblosc; its notes on environment variables hold here too. The
// bytes of a Writer are those of C-Blosc2 2.17.
package frameio
