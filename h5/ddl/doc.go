// Package ddl writes HDF5 files as text like h5dump, in the data description language (DDL) of the
// HDF5 project: structure, datatypes, shapes, attributes and values.
//
// # Overview
//
// Content and order are those of h5dump. Line breaks inside values differ: each row of the last
// axis begins a new line. A test compares the output for libhdf5's test files word for word with
// that of h5dump. The values of a part of a dataset (Options.Part) are in h5dump's order. The
// indexes at the beginning of a line are those of its first element. In the second line of a row
// h5dump instead counts on from the first.
//
// Datasets are read in pieces of some MiB.
//
// # Errors
//
// Unreadable objects are left out as in h5dump. Write continues with the rest of the file and
// returns the first error at the end.
//
// # Concurrency
//
// Any number of goroutines may write one h5.File to different writers.
package ddl
