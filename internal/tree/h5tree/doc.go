// Package h5tree is the driver of HDF5.
package h5tree
