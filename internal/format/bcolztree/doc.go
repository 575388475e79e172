// Package bcolztree reads and checks the directory trees of bcolz 1.x, and encodes their metadata
// and chunk file headers as bcolz does.
//
// # Functions
//
// A tree is a carray or a ctable. A carray is one array that is split into chunks along its first
// dimension. A ctable is a set of carrays of the same length. [ReadArray] and [ReadTable] read the
// metadata of a tree in any fs.FS. [Array.ReadChunks] reads the Blosc chunks of one chunk file and
// checks their number of rows. [Describe] and [DescribeFile] annotate a tree and a file. The
// package does not decompress chunks.
//
// [ParseSizes], [ParseStorage], [ParseRootDirs], [ParseAttrs] and [ParseFileHeader] read the single
// files. The Append methods write them with the same bytes as bcolz: its order of keys, Python's
// JSON, a newline at the end.
//
// The specification is bcolz's DISK_FORMAT_v1.rst. Where bcolz differs, this package follows bcolz,
// because bcolz wrote the files:
//
//   - Columns of a ctable are directories beside __rootdirs__, not under data/, and do not nest.
//     The form of the specification is supported too ([NestedTree]).
//   - A chunk file after the end of the array is left over from a longer array and is ignored.
//   - The counts in meta/sizes are wrong after a trim.
//
// Old files are supported: without cname (which means blosclz), without quantize, with a shuffle of
// true or false, with a map of "dirs" in addition to the names.
//
// # Memory
//
// Metadata files are read whole, up to a limit. A chunk file is read up to the end of its chunks,
// and at most to the end of the file. The decoded size of its chunks is compared with the shape.
// See [Limits].
//
// # Concurrency
//
// There is no package state. An Array and a Table are immutable, and are safe for concurrent use if
// their fs.FS is.
//
// # Errors
//
// A failed parse returns a *format.Error whose Format names the file, and which wraps a sentinel of
// package format. If a file cannot be read, the error is that of the fs.FS. For example,
// errors.Is(err, fs.ErrNotExist) is true for a missing file.
package bcolztree
