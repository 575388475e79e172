// The system's own HDF5, found by pkg-config, whose file names the high-level
// library only in some distributions.

//go:build system_libs

package h5

// #cgo CFLAGS: -DHYPERSLAB_SYSTEM_LIBS
// #cgo LDFLAGS: -lhdf5_hl
// #cgo pkg-config: hdf5
import "C"
