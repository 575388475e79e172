// Package b2nd is ndarray's backend for Blosc2 arrays: b2nd files and sparse
// directories, and for Caterva arrays.
//
// # What
//
// Open and Create return a *Backend over one array. Elements are stored in the
// byte order that the element type declares, and turned to this machine's on the
// way in and out. The element type is stored as NumPy's string, as python-blosc2
// does.
//
// Attributes are variable-length metalayers under their own names, in MessagePack
// as python-blosc2 writes it, so Python sees plain numbers, texts and lists. One
// further metalayer, "hyperslab", records what that cannot say (record.go). Fixed
// metalayers of other programs are read as attributes too, and cannot be changed.
//
// Compression is zstd level 5 behind shuffle unless the Spec says otherwise;
// chunk and block shapes are ndarray.AutoChunks' and AutoBlocks' choice.
//
// # Memory
//
// A call holds, for each of its workers, a chunk as it is stored and one decoded. While
// a new array is written, up to 32 MiB of compressed chunks wait for those before them,
// and 8 bytes for each chunk of the array are kept. Elements stored in the other byte
// order take a copy of one slab for each write.
//
// # Concurrency
//
// All methods may be called at the same time. Any number of calls read at once, each on
// as many workers as ndarray.Workers says (package cblosc/frameio); so do writes of
// whole chunks to an array that Create has made, whose file is complete at the first
// call of another kind, or at Close. Everything else is the library's, one call at a
// time for each array. A write of whole chunks to an array that was opened is complete
// when it returns. OpenOptions.Library leaves all to the library, and Storage says where
// workers cannot.
//
// # Errors
//
// Sentinels of ndarray; errors of the library are *cblosc.Error inside.
// errors.ErrUnsupported for more than 16 axes, and for codecs and filters that the
// library does not have.
//
// # C version
//
// As package cblosc.
package b2nd
