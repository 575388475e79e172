// Package h5cloud examines and writes HDF5 files with a layout for object stores: paged file space
// with all metadata in the first page, and chunks of 2 MiB to 16 MiB.
//
// Examine reads metadata only, without libhdf5.
package h5cloud
