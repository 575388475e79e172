// Package verify checks whole files for corruption: Blosc2 frames (contiguous and sparse, with b2nd
// and Caterva arrays), bcolz trees, HDF5 files, and directories of arrays.
//
// # Checks
//
// File checks the structure of a file with the readers of package format, which validate every
// field. It decodes every chunk, in parallel. It compares the checksums that the format has:
// Fletcher-32, the checksums of HDF5 metadata, those inside the streams of codecs, and the current
// checksums of a frame (package frameio). Finally libhdf5 or C-Blosc2 opens the objects in the
// file.
//
// Each error is reported with its location: the object, the chunk with its first element, and the
// offset in the file. Elements without a checksum that still decode may be wrong, because the
// format cannot detect it. For these, File can write a sidecar of SHA-256 digests beside the file
// and compare it later (Options.Digests).
//
// # Exit codes
//
// A command that verifies must exit with Report.ExitCode: 0 if the file is valid, 1 if it is
// corrupt, 3 if no corruption was found but parts could not be checked. It must exit with 2 if File
// returned an error.
//
// # Isolation
//
// With Options.Isolated a worker process does the work (package internal/sandbox/worker). A crash
// of a library is then reported as an error of the chunk that caused it.
//
// # Memory
//
// Each goroutine needs the size of the longest chunk, stored and decoded. Options.MaxChunk limits
// both. An HDF5 file needs about 100 bytes more for each chunk.
//
// # Concurrency
//
// All functions may be called from any number of goroutines. The file should not be written
// meanwhile.
//
// # Errors
//
// Errors are *ndarray.Error with the sentinels of that package. The entries of Report.Damages hold
// the errors of the package that found them.
package verify
