// Link flags for the HDF5 of the system, which pkg-config finds. The flag -lhdf5_hl is explicit
// because the pkg-config file lists the high-level library only in some distributions. Debian has
// this name in a directory that its newer pkg-config file does not list.

//go:build system_libs

package h5

// #cgo CFLAGS: -DHYPERSLAB_SYSTEM_LIBS
// #cgo amd64 LDFLAGS: -L/usr/lib/x86_64-linux-gnu/hdf5/serial
// #cgo arm64 LDFLAGS: -L/usr/lib/aarch64-linux-gnu/hdf5/serial
// #cgo LDFLAGS: -lhdf5_hl
// #cgo pkg-config: hdf5
import "C"
