// Package striped stores a dataset in several HDF5 files, with each chunk in a selectable file.
//
// The format is a virtual dataset over one dataset in each file, which HDF5 1.10 and later can
// read. In each file the chunks are consecutive along the first dimension, in the order of the
// grid. Thus each stripe is one chunk of that file's dataset. Each chunk requires a mapping in the
// virtual dataset, about 100 bytes.
package striped
