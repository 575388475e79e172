// Package h5types translates datatypes and dataspaces of package internal/format/h5file to those of
// package h5.
package h5types
