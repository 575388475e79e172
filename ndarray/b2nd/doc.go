// Package b2nd is ndarray's backend for Blosc2 arrays (b2nd files and sparse directories) and for
// Caterva arrays.
//
// # Overview
//
// Open and Create return one array. Create, and Open for writing, return every optional interface
// of ndarray. An array opened read-only is read without C-Blosc2, unless Library or Allow is set.
// Elements are stored in the byte order of the element type and converted to native byte order when
// they are read or written. The element type is stored as NumPy's string, as python-blosc2 does.
//
// Attributes are variable-length metalayers under their own names. They contain MessagePack in the
// form of python-blosc2, so Python programs see plain numbers, strings and lists. One further
// metalayer, "hyperslab", records properties that this form cannot represent (record.go). Fixed
// metalayers of other programs are read as attributes too, and cannot be changed.
//
// The filters of a Compression are "shuffle", "bitshuffle" and, as the first one, "delta". Arrays
// with other filters of C-Blosc2 are read and changed, but Create returns errors.ErrUnsupported for
// them, because a Compression does not contain their parameters. The default compression is zstd
// level 5 after shuffle. The default chunk shape is the shape of the array with its longest
// dimension halved until a chunk takes at most 1 MiB. Blocks are made from the chunk in the same
// way, with at most 128 KiB.
//
// # Memory
//
// A call holds, for each of its workers, a chunk as stored and one decoded. While a new array is
// written, up to 32 MiB of compressed chunks wait for earlier chunks, and each chunk of the array
// takes 8 bytes. For elements stored in the other byte order, each write copies one slab.
//
// # Concurrency
//
// All methods may be called at the same time. Any number of calls read at once, each with as many
// workers as the call allows (package cblosc/frameio). Writes of whole chunks to an array
// made by Create also run at once. The file of such an array is complete after the first call of
// another kind, or after Close. C-Blosc2 does everything else, one call at a time for each array. A
// write of whole chunks to an opened array is complete when it returns. OpenOptions.Library makes
// C-Blosc2 do everything, and Storage reports why workers cannot be used.
//
// # Errors
//
// Errors are sentinels of ndarray; errors of C-Blosc2 are wrapped as *cblosc.Error. Arrays of more
// than 16 dimensions, and codecs and filters that C-Blosc2 does not have, are
// errors.ErrUnsupported.
//
// # C version
//
// The same as of package cblosc.
package b2nd
