// Package hdf5test looks into HDF5 files for tests that damage them.
//
// # What
//
// Object is the header of an object, whose messages say where in the file they stand.
// SetRows makes a dataset claim another number of rows than it has, and Edit changes what
// a message says, with the checksum of its header.
//
// # What not
//
// It makes no files, and repairs no checksum for SetRows: give that files of the old format.
package hdf5test
