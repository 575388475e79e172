// Package chunk reads Blosc and Blosc2 chunks: the header, the block starts, the
// streams of each block, and the values of those that need no codec library.
//
// # What
//
// [ParseHeader] reads the header alone, 16 or 32 bytes. [Parse] reads a whole
// chunk down to its streams. [Header.Check] and [Check] say whether a chunk may
// be given to C-Blosc2: a crafted header can make the library divide by zero,
// read or write outside its buffers, or launch a program to load a codec plug-in.
// [Decode] gives the bytes of chunks that are stored, special or BloscLZ.
// [Describe] annotates every byte of a chunk, right or wrong.
//
// Header versions 1 to 6 are read: 1 is before Blosc 1.0, 2 is Blosc 1, 3 and 4
// are Blosc2 before its release, 5 is Blosc2, 6 is Blosc2 3.0 with blocks of
// variable length. The document is README_CHUNK_FORMAT.rst of C-Blosc2; where it
// and the library disagree the library is right, and the comment on the field
// says so.
//
// # Memory
//
// Parsed chunks point into the input, they do not copy it. Blocks that
// overlap are refused, therefore the number of streams, and with it memory, is
// linear in the length of the input; work is too, but for sorting the block starts.
//
// # Concurrency
//
// All functions are pure; values are safe for concurrent reads.
//
// # Errors
//
// Every failure is a *format.Error that wraps a sentinel of package format.
package chunk
