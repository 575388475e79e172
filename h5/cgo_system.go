// The system's own HDF5, found by pkg-config.

//go:build system_libs

package h5

// #cgo CFLAGS: -DHYPERSLAB_SYSTEM_LIBS
// #cgo pkg-config: hdf5
import "C"
