// Link flags for the HDF5 of the system, which pkg-config finds. The flag -lhdf5_hl is explicit
// because the pkg-config file lists the high-level library only in some distributions.

//go:build system_libs

package h5

// #cgo CFLAGS: -DHYPERSLAB_SYSTEM_LIBS
// #cgo LDFLAGS: -lhdf5_hl
// #cgo pkg-config: hdf5
import "C"
