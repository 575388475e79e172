// The system's C-Blosc2, found by pkg-config.

//go:build system_libs

package cblosc

// #cgo CFLAGS: -DHYPERSLAB_SYSTEM_LIBS
// #cgo pkg-config: blosc2
import "C"
