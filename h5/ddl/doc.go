// Package ddl writes HDF5 files as text in the words of h5dump: the data
// description language of the HDF5 project, with structure, datatypes, shapes,
// attributes and values.
//
// # What
//
// What is written and in which order is h5dump's; where lines break inside values
// is this package's own, one row of the last axis after the other. A test walks the
// library's own test files and compares word for word with h5dump. Of a part of a dataset
// (Options.Part) the values come in h5dump's order; the place at the beginning of a line is
// that of its first element, in the second line of a row, too, where h5dump counts on from
// the first.
//
// Everything is written in pieces: a dataset is read some MiB at a time.
//
// # Errors
//
// What cannot be read is left out where h5dump leaves it out, and the first error
// is returned at the end: the rest of the file is written all the same.
//
// # Concurrency
//
// Any number of goroutines may write one h5.File to different writers.
package ddl
