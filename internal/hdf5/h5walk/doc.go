// Package h5walk lists the objects of an HDF5 file.
package h5walk
