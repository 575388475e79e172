// Package chunk reads Blosc and Blosc2 chunks: the header, the block starts, the streams of each
// block, and the values of chunks that need no codec library.
//
// # Functions
//
// [ParseHeader] reads only the header, 16 or 32 bytes. [Parse] reads a whole chunk down to its
// streams. [Header.Check] and [Check] check whether a chunk is safe for C-Blosc2: a crafted header
// can make the library divide by zero, read or write outside its buffers, or start a program to
// load a codec plug-in. [Decode] decodes chunks that are stored, special or BloscLZ. [Describe]
// annotates every byte of a chunk, valid or not.
//
// Header versions 1 to 6 are supported: 1 is before Blosc 1.0, 2 is Blosc 1, 3 and 4 are Blosc2
// before its release, 5 is Blosc2, and 6 is Blosc2 3.0 with blocks of variable length. The
// specification is README_CHUNK_FORMAT.rst of C-Blosc2. Where it and the library differ, this
// package follows the library, and the comment on the field describes the difference.
//
// # Memory
//
// Parsed chunks point into the input. Because overlapping blocks are refused, the number of streams
// and the memory are linear in the length of the input. The work is linear too, except for sorting
// the block starts.
//
// # Concurrency
//
// All functions are pure; values are safe for concurrent reads.
//
// # Errors
//
// Every error is a *format.Error that wraps a sentinel of package format.
package chunk
