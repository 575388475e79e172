// Package h5copy copies objects of HDF5 files: whole files for repack, single objects for cp,
// and trees for hyperslab.CopyTree, which creates the datasets itself.
//
// libhdf5 copies most datasets as they are stored (H5Ocopy). The package does the rest itself:
// groups, links, references, committed datatypes, fill values of variable length, attributes over
// 64 KiB and the names of other files that a dataset or link uses.
//
// A Copier reads the source file with libhdf5 and creates the objects with a Writer. Package
// recovery reads a corrupt file with its own parser and uses the same Writer.
package h5copy
