// Package hdf5test reads and modifies HDF5 files for tests.
//
// # Functions
//
// Object returns the header of an object with the offsets of its messages. SetRows changes the
// number of rows in a dataset's dataspace, so that it differs from the real one. Edit changes the
// content of a message and corrects the checksum of its header.
//
// The package creates no files. SetRows does not correct checksums, so it should only be used for
// files of the old format.
package hdf5test
