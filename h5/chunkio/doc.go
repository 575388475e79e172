// Package chunkio reads and writes regions of chunked datasets on every core.
//
// # What
//
// libhdf5 decodes one chunk at a time, under a lock that covers the process. [Read]
// takes the stored bytes of the chunks that a region touches, from the file itself
// where nobody can change it and else from the library, and undoes their filters in
// workers, straight into the caller's memory where a chunk lies in one piece there,
// and turns and converts numbers there, too. [Write] applies the filters in workers
// and stores the chunks in their order. A region may have steps: chunks between them are
// left alone.
//
// The library is the oracle: what is read and what is stored is what package h5
// reads and would store, element for element. Compressed bytes may differ, since
// deflate is done by a faster encoder ([Options.Exact] asks for zlib's). What this
// package cannot do, h5.ReadRegion and WriteRegion do, and [Stats.Fallback] says
// why; [Options.Library] asks for them. Conversions that round or clamp
// ([Options.Lossy]) are among that, and the words for a value that does not fit.
//
// Three things differ. A chunk that decodes to another length than a chunk has is
// an error: the library takes the beginning of a longer one and reads behind the
// end of a shorter one. What a Blosc chunk calls uninitialized is zeros. And a Write
// that fails has stored the chunks before the one that failed, in their order.
//
// # Memory
//
// A worker keeps a chunk as it is stored, a chunk decoded, what the filters need
// between them, and converted numbers; [Options.Memory] bounds all of them together,
// and with it the number of workers. What the library does is done in slabs of as much,
// or of one row of chunks; but numbers that may be refused are written by one call, so that
// nothing is written then, which takes about 1 MiB however many there are. Of a dataset in a
// file that is open for reading only, 16 bytes for each chunk are remembered as long as the
// Dataset lives.
//
// # Concurrency
//
// Everything may be called from any number of goroutines. Two writes must not touch
// the same chunk at the same time: one of them would be lost. Workers are
// goroutines of the call and are gone when it returns.
//
// # Errors
//
// A failure is an [*Error] with the dataset and the chunk, and wraps what package
// h5 or h5/filter found. What is wrong with a call is said by package h5, in its
// words: ErrSize, ErrRegion, ErrType, ErrReadOnly, ErrClosed.
package chunkio
