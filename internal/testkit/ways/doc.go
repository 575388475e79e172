// Package ways is the matrix of tests that holds every way to read an array to the values of the
// reference library.
//
// # Overview
//
// Generate writes a set of files with Python: HDF5, b2nd, Caterva, bcolz, plain frames, containers
// and tables of python-blosc2, and .npy. Parameters lists the dimensions of each format. The set
// contains every pair of values of two dimensions that the format allows. The manifest contains the
// values that h5py, python-blosc2, python-caterva, bcolz-zipline and NumPy read.
//
// A Way is one way to obtain the elements of a region. Run calls each way for regions of each
// array and collects the differences. Destinations are dirty and reused, and each array is read
// alone and after a larger array of the same file.
//
// The ways of the command are in the tests of cmd/hyperslab/internal/cli, which import this
// package.
package ways
