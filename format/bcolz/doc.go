// Package bcolz reads and checks the directory trees of bcolz 1.x, and encodes
// their metadata and chunk file headers as bcolz does.
//
// # What
//
// A tree is a carray, one array cut into chunks along its first axis, or a
// ctable, a set of carrays of one length. [ReadArray] and [ReadTable] read the
// metadata of a tree in any fs.FS; [Array.ReadChunks] reads the Blosc chunks of
// one chunk file and checks that they hold the rows they should; [Describe] and
// [DescribeFile] annotate all of it. Decompressing is another package's work.
//
// [ParseSizes], [ParseStorage], [ParseRootDirs], [ParseAttrs] and
// [ParseFileHeader] read the single files, and the Append methods write them with
// the bytes of bcolz: its order of keys, Python's JSON, a newline at the end.
//
// The document is bcolz's DISK_FORMAT_v1.rst. Where bcolz does something else,
// the code is right, as the files are its: columns of a ctable stand beside
// __rootdirs__, not under data/, and do not nest, though what the document draws is
// read as well ([NestedTree]); a chunk file that the shape does not reach is left over
// from a longer array and means nothing; meta/sizes counts wrong after a trim.
// Old files are read too: without cname (blosclz then), without quantize, with a
// shuffle of true or false, with a map of "dirs" beside the names.
//
// # Memory
//
// Metadata files are read whole, up to a limit. A chunk file is read as far as
// its chunks reach, and never more of it than the file is long; what its chunks
// decode to is compared with the shape before it is believed. See [Limits].
//
// # Concurrency
//
// There is no package state. An Array and a Table never change, and are safe for
// concurrent use if their fs.FS is.
//
// # Errors
//
// A failed parse is a *format.Error whose Format names the file, wrapping a
// sentinel of package format. A file that cannot be read is the fs.FS's own
// error, for which errors.Is(err, fs.ErrNotExist) works.
package bcolz
