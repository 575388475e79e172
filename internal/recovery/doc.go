// Package recovery writes the recoverable contents of a corrupt file to a new file of the same
// format. It supports Blosc2 frames (contiguous and sparse), bcolz trees, and HDF5 files. It only
// reads the corrupt file.
//
// # Recovery
//
// Recover reads with the parsers of package format, which validate every field and continue after
// errors. It never lets libhdf5 or C-Blosc2 open the corrupt file.
//
// In a frame, the header, the index, the trailer, and any chunk may be missing. Chunks that an
// index contains are unverified, because frames have no checksums. Without an index, Recover
// searches the file for chunks. It keeps their order in the file, so they are guessed. Old indexes
// that a durable append has left in the file are valid indexes too.
//
// In a bcolz tree, any chunk file and any metadata file may be missing.
//
// In an HDF5 file, the flags of a killed writer may be set, and any structure may be corrupt.
// Objects that can still be reached from the root group keep their names. Recover searches the
// whole file for other datasets and puts them into /lost+found. Without a superblock it finds all
// objects by this search. Elements are decoded in Go, or by libhdf5 in a file in memory if only
// libhdf5 has the filter.
//
// Fields that other data disproves are replaced before the recovery. These changes are certain: a
// byte with which the checksum of its structure becomes right, a wrong byte of a checksum, the
// flags of a killed writer, the end of the file, and sizes that repeat that of the datatype: the
// element size of the layout and the parameters of filters. Chunks decide about a size by the
// checksums of their filters, or by their decoded length. If they do not, the stored parameters
// remain, because libhdf5 uses them, and the chunks are unverified. A deflate stream contains its
// end, so it is read although the index contains a wrong size.
//
// Strings and sequences of variable length are rewritten from the heaps that contain them.
// References point to the recovered objects; a reference whose target is missing becomes null and
// counts as lost. Virtual datasets and datasets with external files keep their lists of sources and
// files, but Recover does not read the other files. If a file with virtual datasets must be
// rewritten, a source selection that is not a hyperslab is lost. References into other files are
// lost too.
//
// A chunk of an HDF5 file is certain if checksums or a complete index confirm its location, and a
// checksum confirms its values. Otherwise it is unverified. It is guessed if a corrupt structure
// leads to it, for example a B-tree node with a wrong checksum. The old format has no checksums, so
// only violations of its rules are detected. Chunks of a filter that this module lacks are copied
// without recompression. In a rewritten file they are guessed, and the filter is optional.
//
// Chunks whose codec or filters need the array's metadata (ZFP, NDLZ, NDCell, NDMean) are checked
// by their headers and copied without recompression. They are guessed.
//
// # Errors
//
// Errors are *ndarray.Error with the sentinels of that package. Lost elements and objects are not
// an error: they are listed in the Report.
package recovery
