// Limit on memory, so that many concurrent calls do not multiply it.

package ndarray

import memory "github.com/hyperslab/hyperslab/internal/chunked/budget"

// SetReadMemory limits the memory for stored and decoded chunks of all concurrent reads of the
// process, by default 256 MiB, and returns the previous limit. Sizes are in bytes; a value below 1
// changes nothing. A read that would exceed the limit waits until other reads have finished a chunk
// or until its context ends. A chunk above the limit is read alone.
//
// The limit applies to HDF5, b2nd, Caterva, plain frames and bcolz. It does not include the
// caller's buffers, buffers of at most 64 KiB, the chunk caches of libhdf5 (one per open dataset),
// or arrays that C-Blosc2 reads because they are open for writing (one chunk per open array).
//
// If the strings and sequences that one call reads from an HDF5 file have more bytes than the limit
// and than the file, the call returns hyperslab.ErrLimit, because many elements of a corrupt file
// can refer to the same bytes.
func SetReadMemory(bytes int64) (previous int64) { return memory.SetLimit(bytes) }
