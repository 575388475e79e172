// Package hdf5test looks into HDF5 files for tests that damage them.
//
// # What
//
// Object is the header of an object, whose messages say where in the file they stand.
// SetRows makes a dataset claim another number of rows than it has.
//
// # What not
//
// It makes no files, and repairs no checksums: give it files of the old format.
package hdf5test
