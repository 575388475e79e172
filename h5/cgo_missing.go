//go:build !cgo

package h5

// Without cgo this package cannot bind libhdf5. A stub would fail at run time, perhaps on a user's
// machine. This type fails at compile time, and its name explains the reason. The packages of
// format/ and package ndarray itself build without cgo.
type _ h5_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
