// Package shards cuts arrays that are directories of many files into parts, joins the
// parts again, and reads them where they lie.
//
// # What
//
// A shard is a directory with all the metadata of an array and some of its chunks: a
// range of chunk numbers, or of a ctable some of the columns. [Split] cuts a bcolz tree
// or a sparse Blosc2 frame (b2nd, Caterva, or a plain one) into shards, [Join] makes one
// directory of them. Neither decodes a chunk: what is joined has the bytes of what was
// split.
//
// [FS] is one file system over several roots, for shards that stay where they are, on
// other disks or machines: bcolz.OpenFS, bcolz.OpenTableFS and b2nd.OpenFS read through
// it.
//
// # Writing by several processes
//
// Of a bcolz array every process opens the one directory, or a shard of it, with
// bcolz.OpenOptions.Chunks, and writes the chunk files in its range; the array was made
// with bcolz.CreateOptions.Skeleton. The index of a sparse frame belongs to one process
// alone: there each process creates the whole array for itself, writes its range of
// chunks, and Join takes from each directory the chunks in its range. An array that is
// there is changed in the same way, or in place: only the chunk files that a region
// touches are written.
//
// # Memory
//
// A file is copied piece by piece; a frame whose index is made anew, chunk by chunk.
//
// # Concurrency
//
// All functions may be called at the same time. Sources must not change meanwhile.
//
// # Errors
//
// Sentinels of ndarray; ErrParam for shards that overlap or leave a chunk out,
// ErrCorrupt for a chunk that a shard should have and does not. Outputs appear whole or
// not at all.
package shards
