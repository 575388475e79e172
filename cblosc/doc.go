//go:build cgo

// Package cblosc is a thin binding of C-Blosc2: chunks, contexts, super-chunks, metalayers and
// n-dimensional arrays (b2nd and Caterva). It adds no policy: a method calls the library function
// that its comment names, after checking the arguments, and returns its errors in Go terms. Where
// the library has a defect, the package calls it in another way or returns errors.ErrUnsupported;
// docs/defects.md lists the defects.
//
// # Types
//
// A chunk is a compressed buffer with a header. [Compressor] makes chunks and [Decompressor] reads
// them. A super-chunk ([SChunk]) is a sequence of chunks of one size: in memory, in one file (a
// contiguous frame), or in a directory with one file per chunk (a sparse frame). An [Array] is a
// super-chunk whose chunks and blocks tile n dimensions. Metalayers ([Metalayers]) are named byte
// strings stored with the chunks.
//
// [Pool.CompressBatch] compresses many small buffers in one call of the library. [CompressBlosc1]
// makes chunks for C-Blosc 1 and bcolz. Package frameio reads files on many goroutines without a
// lock and writes frames of many chunks.
//
// # Go functions called by the library
//
// [RegisterCodec] and [RegisterFilter] register codecs and filters written in Go. [NewPrefiltered]
// and [NewPostfiltered] add a function before or after the pipeline of a context. A [Tuner] chooses
// the parameters of each chunk, and a [Medium] stores a frame. [SChunk.CompressWith] and
// [SChunk.DecompressWith] use such contexts for a super-chunk. Errors and panics of these functions
// are returned by the calls that caused them.
//
// # Memory
//
// Compressor, Decompressor, Pool, SChunk and Array own C memory. They keep no files open, because
// the library opens the file for each call. A frame can also be stored on any value with ReadAt and
// WriteAt ([Medium], [OpenSChunkOn]). The caller must call Close, which frees the memory. A second
// Close and every method after it return [ErrClosed]. The garbage collector frees a value that was
// not closed. With the build tag "invariants" it is reported instead, with the stack that created
// it, and not freed. Slices passed to a method are used during the call only. Returned slices
// belong to the caller.
//
// # Concurrency
//
// Every type is safe for concurrent use. The library is not, so each handle has a mutex: of two
// calls on one handle the second waits. Different handles run in parallel. To compress or
// decompress on many goroutines, use one context for each, for example from a [Pool]. Contexts use
// one thread unless [CParams.Threads] is larger; with several threads, compressed bytes differ from
// run to run.
//
// # Errors
//
// A failed call returns an [*Error] with the operation and the path. Test it with errors.Is and the
// Err variables of this package, [fs.ErrNotExist], [fs.ErrPermission], [errors.ErrUnsupported], and
// the sentinels of package format for invalid bytes. Sizes, ranges and parameters are checked in Go
// before the library is called. So is all untrusted input: the packages under format parse chunk
// headers, frames and their chunks first, because the library crashes on some of them and starts a
// program for others. docs/defects.md names each guard.
//
// # C version
//
// C-Blosc2 3.3 or later. Older versions do not compile.
//
// # Environment
//
// The library does not see the variables BLOSC_* and BTUNE_* of the environment. Some of them, for
// example BLOSC_CLEVEL, BLOSC_COMPRESSOR and BLOSC_NTHREADS, override the parameters given here,
// BLOSC_TRACE prints to standard error, and BTUNE_TRADEOFF selects a tuner that is not linked. A
// program allows a variable by setting it: os.Setenv(name, os.Getenv(name)).
package cblosc
