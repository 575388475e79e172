// Limit on memory, so that many concurrent calls do not multiply it.

package ndarray

import memory "github.com/hyperslab/hyperslab/internal/chunked/budget"

// SetReadMemory limits the memory of the process that grows with its input, by default 256 MiB, and
// returns the previous limit: stored and decoded chunks of reads, buffers of Copy, Compare, Each,
// Map and the functions above them, chunks that hyperslab.Verify decodes, tables of the chunks of
// HDF5 datasets, decoded chunks of HDF5 that the next read of a part of them uses again (at most 64
// MiB and a quarter of the limit), responses and caches of package serve, and blocks in the cache
// of package remote. Sizes are in bytes; a value below 1 changes nothing.
//
// A read that would exceed the limit waits until other reads have finished a chunk or until its
// context ends, and caches shrink for it. A chunk above the limit is read alone. An operation uses
// fewer goroutines instead, at least one.
//
// The limit applies to HDF5, b2nd, Caterva, plain frames and bcolz. It does not include the
// caller's buffers, buffers of at most 64 KiB, the chunk caches of libhdf5 (one per open dataset),
// or arrays that C-Blosc2 reads because they are open for writing (one chunk per open array).
//
// If the strings and sequences that one call reads from a dataset or an attribute of an HDF5 file
// have more bytes than the limit and than the file, the call returns hyperslab.ErrLimit, because
// many elements of a corrupt file can refer to the same bytes.
func SetReadMemory(bytes int64) (previous int64) { return memory.SetLimit(bytes) }
