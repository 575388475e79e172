// Package shards divides arrays that are directories of many files into parts, joins the parts
// again, and reads arrays from their parts.
//
// # Overview
//
// A shard is a directory with all the metadata of an array and some of its chunks: a range of chunk
// numbers, or, for a ctable, some of the columns. [Split] divides a bcolz tree or a sparse Blosc2
// frame (b2nd, Caterva, or a plain one) into shards. [Join] makes one directory of them. Neither
// decodes chunks, so the joined array has the same bytes as the original.
//
// [FS] is one file system over several roots, for shards that stay on their disks or machines.
// bcolz.OpenFS, bcolz.OpenTableFS and b2nd.OpenFS can read through it.
//
// # Writing by several processes
//
// A bcolz array for several processes must be created with bcolz.CreateOptions.Skeleton. Every
// process opens its directory, or a shard of it, with bcolz.OpenOptions.ChunkRange, and writes the
// chunk files in its range.
//
// Only one process may write the index of a sparse frame. Therefore each process creates the whole
// array in its own directory and writes its range of chunks. Join then takes from each directory
// the chunks in its range.
//
// An existing array can be changed in the same way, or in place, because a write changes only the
// chunk files that its region touches.
//
// # Memory
//
// Files are copied piece by piece. A frame with a new index is copied chunk by chunk.
//
// # Concurrency
//
// All functions may be called at the same time. Sources must not change during a call.
//
// # Errors
//
// Errors are sentinels of ndarray: ErrParam for shards that overlap or leave a chunk out, and
// ErrCorrupt for a chunk that is missing in its shard. Outputs are created completely or not at
// all.
package shards
