// Package scan lists the references of a file to other files, the decoders it needs, the limits it
// exceeds, and its structural errors.
//
// # Overview
//
// File scans one file, or one directory with everything below it. It reads HDF5 files, Blosc2
// frames (contiguous and sparse, with their b2nd or Caterva metalayers), bcolz trees, and the
// frames in containers of python-blosc2, except those that are embedded in another frame. Each
// Finding belongs to one of the Rules.
//
// All parsing is done by the packages below format/, which are plain Go. C libraries do not receive
// bytes of the file. Chunks are not decompressed, except the index of a frame and HDF5 elements
// that refer to global heaps, which are decoded in Go. File opens the file that the caller names
// and, for a directory, the regular files in it. It never opens a target of a link.
//
// # Memory
//
// A scan takes memory in proportion to the metadata of a file, and Options bounds each structure.
// At most Options.Findings findings are kept; the others are counted.
//
// # Concurrency
//
// There is no package state. Every function is safe for concurrent use.
//
// # Errors
//
// An error of File means that the file cannot be scanned. It wraps ErrFormat for an unknown format,
// or is the error of the context or of the operating system. Errors inside a recognised file are
// Findings.
package scan
