// Package chunked divides a region of an array among workers, chunk by chunk.
//
// A [Layout] describes the chunks of an array. A [Plan] lists the chunks that a region touches, and
// a [Piece] is the part of the region in one chunk: its location in the chunk and in the caller's
// buffer. [Each] distributes the chunks to workers. The caller reads, decodes and stores the
// chunks, because these steps differ between formats.
package chunked
