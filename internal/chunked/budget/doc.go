// Package budget bounds the memory of the process that grows with its input: stored and decoded
// chunks of reads, the buffers of operations on whole arrays, tables of chunks, the responses of
// package serve, and caches.
//
// A read acquires the bytes that one chunk needs, takes buffers, and returns both before it begins
// the next chunk. It holds at most one [Grant] at a time and calls no function of its caller while
// it holds one, except the io.ReaderAt or fs.FS that contains the chunks. Therefore reads cannot
// wait for each other in a cycle. A request above the limit waits for all of it and runs alone.
//
// An operation takes the bytes of its buffers once, with [Lend], which does not wait. It uses fewer
// buffers if other operations already hold bytes. A cache takes the bytes of each entry with
// [Keep], and releases entries when a read would have to wait.
//
// Requests of at most [Small] bytes are not counted. They cost no lock.
//
// Other memory that depends on a file has a limit of its own and is not counted:
//
//   - The strings and sequences of one read of an HDF5 dataset or attribute have at most [Limit]
//     bytes, or as many as the file if it is larger (hyperslab.ErrLimit otherwise).
//   - The offsets of the chunks of a frame have at most 128 MiB, 8 bytes each, and its metalayers
//     at most 64 MiB in the header and 1 GiB in the trailer, which the file must contain.
//   - A metadata file of bcolz has at most 16 MiB.
//   - The list of all chunks of an HDF5 dataset, which exists while a table of chunks is made, has
//     8 bytes times the rank plus 3 for each stored chunk, and the file has at least 8. libhdf5's
//     own metadata cache has at most 32 MiB for each open file.
//   - In untrusted mode the structures of a file, one by one, and all attributes together have at
//     most hyperslab.Untrusted.MaxMetadata bytes, 64 MiB by default, before a library reads them.
//   - The rows of CSV, JSON, DDL and headers of .npy files are written in pieces.
package budget
