// Package h5prefetch reads the metadata of several objects of an HDF5 file at the same time, so
// that it is in the cache of a remote reader when libhdf5 needs it. libhdf5 waits for each
// structure.
package h5prefetch
