// Package salvage makes a new file of what can be proved, or with reason be guessed, of
// a damaged one: a Blosc2 frame, contiguous or sparse, a bcolz tree, or an HDF5 file.
// The damaged file is only read.
//
// # What
//
// Recover reads with the parsers of package format, which trust nothing and go on
// behind damage, and never lets libhdf5 or C-Blosc2 open the damaged file.
//
// Of a frame the header may be gone, the index, the trailer, or any chunk. Chunks whose
// place an index tells are certain; without an index, chunks are found one behind the
// other in the file, and take places in that order, which is guessed. Old indexes that
// a durable append has left behind count as indexes.
//
// Of a bcolz tree any chunk file may be gone, and any file of metadata.
//
// Of an HDF5 file the flags of a writer that was killed may stand, and any structure be
// damaged: what still can be reached from the root group keeps its name; datasets that
// nothing leads to any more are found by looking at every place in the file, and go to
// /lost+found. Without a superblock all are found so. Elements are decoded in Go.
// Texts and sequences of variable length are built anew from the heaps that hold them,
// and references are made to what was recovered; those that lead nowhere are null, and
// lost. Virtual datasets and those with external files keep their lists of sources and
// files: the other files are not looked at. Where such a file has to be written anew, a
// source that is no hyperslab is lost, and so are references into other files.
//
// A chunk of an HDF5 file is certain if no structure that leads to it is damaged; one that
// a node with a wrong checksum, or without its end, tells of is guessed. Of the old format,
// which has no checksums, only what breaks a rule is seen. Chunks of a filter that this
// module lacks are passed on as they are: they are guessed, and the filter is optional in
// the new file.
//
// Chunks whose codec or filters need to know the array (ZFP, NDLZ, NDCell, NDMean) are
// checked by their headers and passed on as they are: they are guessed.
//
// # Errors
//
// Errors are *ndarray.Error with the sentinels of that package. What is lost is no
// error: the Report has it.
package salvage
