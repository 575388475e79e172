// Package h5types translates datatypes and dataspaces of package format/hdf5 to those of package h5.
package h5types
