//go:build cgo

// Package cblosc is a thin binding of C-Blosc2: chunks, contexts, super-chunks,
// metalayers and n-dimensional arrays (b2nd and Caterva). It adds no policy: a
// method does what the function of the library does that its comment names, checked
// before and explained after. What the linked release lacks or gets wrong is done here,
// with the same result: see [Defects].
//
// # What
//
// A chunk is a compressed buffer with a header; [Compressor] makes chunks and
// [Decompressor] reads them. A super-chunk ([SChunk]) is a sequence of chunks of
// one size, in memory, in one file (a contiguous frame), or in a directory with
// one file a chunk (a sparse frame). An [Array] is a super-chunk whose chunks and
// blocks tile n dimensions. Metalayers ([Metalayers]) are named bytes beside the
// chunks.
//
// [Pool.CompressBatch] is for many small buffers: it takes them into the library in one
// call. [CompressBlosc1] makes chunks for C-Blosc 1 and bcolz. Package frameio reads
// files on many goroutines without a lock and writes frames of many chunks.
//
// # Go inside the library
//
// [RegisterCodec] and [RegisterFilter] give ids to codecs and filters written in Go,
// [NewPrefiltered] and [NewPostfiltered] put a function before or behind the pipeline of
// a context, a [Tuner] chooses the parameters of each chunk, and a [Medium] keeps a frame.
// [SChunk.CompressWith] and [SChunk.DecompressWith] put such contexts before and behind a
// super-chunk. Their errors and panics are the errors of the calls that led to them.
//
// # Memory
//
// Compressor, Decompressor, Pool, SChunk and Array own memory of C and, on disk,
// nothing else: the library opens the file for each call. Instead of a file a frame may
// be on anything with ReadAt and WriteAt ([Medium], [OpenSChunkOn]). Close gives the memory
// back; a second Close and every method after it returns [ErrClosed]. An owner that
// is dropped without Close is freed when the garbage collector finds it; with the
// build tag "invariants" it is reported, with the stack that created it, and not
// freed. Slices passed to a method are used during the call only, slices returned
// belong to the caller.
//
// # Concurrency
//
// Every type is safe for concurrent use, because the library is not: two calls on
// one handle are never in C at once, the second waits. Different handles run in
// parallel. To compress or decompress on many goroutines take one context each,
// from a [Pool]. Contexts use one thread unless [CParams.Threads] says otherwise;
// with more than one, compressed bytes differ from run to run.
//
// # Errors
//
// Everything that fails returns an [*Error] with the operation and the path. Test
// it with errors.Is and the Err variables of this package, [fs.ErrNotExist],
// [fs.ErrPermission], [errors.ErrUnsupported], and the sentinels of package format
// for bytes that are wrong. Sizes, ranges and parameters are checked in Go before
// the library is called, and so is everything that comes from outside: chunk
// headers, frames and their chunks are parsed by the packages under format first,
// because the library crashes on some of them and for others starts a program.
// The table [Defects] names each guard.
//
// # C version
//
// C-Blosc2 3.3 or later. An older version does not compile.
//
// # Environment
//
// The library does not see the variables BLOSC_* and BTUNE_* of the environment. Some of them,
// for example BLOSC_CLEVEL, BLOSC_COMPRESSOR and BLOSC_NTHREADS, override the parameters given
// here, BLOSC_TRACE prints to standard error, and BTUNE_TRADEOFF selects a tuner that is not
// linked. A program allows a variable by setting it: os.Setenv(name, os.Getenv(name)).
package cblosc
