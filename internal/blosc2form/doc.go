// Package blosc2form describes the Blosc2 chunks of HDF5 datasets, so that a b2nd array can be
// created that takes them without recompression.
package blosc2form
