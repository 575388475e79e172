// Linking of the system's libraries, found by pkg-config and by name.

//go:build system_libs

package filter

// #cgo CFLAGS: -DHYPERSLAB_SYSTEM_LIBS
// #cgo pkg-config: hdf5 libdeflate liblz4 libzstd zlib
// #cgo LDFLAGS: -lbz2 -lsz
import "C"
