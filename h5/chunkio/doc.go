// Package chunkio reads and writes regions of chunked datasets on all cores.
//
// # Overview
//
// libhdf5 decodes one chunk at a time, under a lock for the whole process. [Read] reads the stored
// bytes of the chunks in a region directly from the file if the file cannot change, otherwise
// through libhdf5. Workers reverse the filters and swap bytes. They decode
// directly into the caller's memory if a chunk is contiguous there. [Write] applies the filters in
// workers and stores the chunks in their order. A region may be strided: chunks between its blocks
// are not touched.
//
// Read returns and Write stores the same elements as package h5. Compressed bytes may differ,
// because deflate uses a faster encoder ([Options.Exact] selects zlib). Operations that this
// package does not support are done by h5.ReadRegion and WriteRegion, and [Stats.Fallback] contains
// the reason. For example, these are conversions between numbers. [Options.Library] always selects
// h5.ReadRegion and WriteRegion.
//
// There are three differences. A chunk that decodes to the wrong length is an error, but libhdf5
// uses the beginning of a longer one and reads out of bounds for a shorter one. Uninitialized
// elements of a Blosc chunk are zeros. A failed Write has stored the chunks before the one that
// failed, in their order.
//
// # Memory
//
// A worker keeps a stored chunk, a decoded chunk, and buffers between the filters.
// [Options.Memory] limits their total and therefore the number of workers.
//
// Reads and writes through libhdf5 use slabs of at most Options.Memory, or of one row of chunks.
//
// For a dataset in a file that is open for reading only, 24 bytes per chunk are cached as long as
// the Dataset exists. A read of parts of a few chunks keeps the decoded chunks for the next read,
// unless the file is remote or blocks of its chunks can be decoded alone. The process keeps at most
// 64 MiB of them, and at most a quarter of its memory for reads (ndarray.SetReadMemory). They leave
// the cache when another read needs their memory, and with their Dataset. Dataset.Refresh has no
// effect on both: after a change by another process, open the dataset again.
//
// # Concurrency
//
// All functions may be called from any number of goroutines. Two concurrent writes must not touch
// the same chunk, because one of them would be lost. Workers are goroutines of the call and have
// ended when it returns.
//
// # Errors
//
// An error in a chunk is an [*Error] with the dataset and the chunk, and wraps the error of package
// h5 or h5/filter. Invalid calls return the errors of package h5: ErrSize, ErrRegion, ErrType,
// ErrReadOnly, ErrClosed.
package chunkio
