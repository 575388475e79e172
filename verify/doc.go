// Package verify looks through whole files for damage: Blosc2 frames (contiguous and
// sparse, with b2nd and Caterva arrays), bcolz trees, HDF5 files, and directories of
// arrays.
//
// # What
//
// File checks the structure of a file with the readers of package format, which trust
// nothing; decodes every chunk, in parallel; compares the checksums that there are
// (Fletcher-32, those of HDF5's metadata, those inside codecs' streams); and lets the
// reference library open what is in it. Each damage is told with its place: the
// object, the chunk with its first element, the bytes of the file. Elements that have
// no checksum and still decode cannot be told from right ones: for these a sidecar of
// SHA-256 digests can be written beside the file, and compared later.
//
// # Exit codes
//
// A command that verifies ends with Report.ExitCode: 0 sound, 1 damaged, 3 no damage
// but not all of it could be looked at. 2 stands for an error of File: nothing can be
// said.
//
// # Isolation
//
// With Options.Isolation the work is done in a worker process (package
// ndarray/worker). A crash of a library then is a damage, with the chunk that caused
// it.
//
// # Memory
//
// For each goroutine the longest chunk, stored and decoded, which Options.MaxChunk
// bounds; of an HDF5 file also some 100 bytes for each chunk.
//
// # Concurrency
//
// All functions may be called from any number of goroutines. Nobody should write the
// file meanwhile.
//
// # Errors
//
// Errors are *ndarray.Error with the sentinels of that package. Damages hold those of
// the package that found them.
package verify
