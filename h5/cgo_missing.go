//go:build !cgo

package h5

// Without cgo there is no libhdf5 to bind. A stub would fail at run time, at
// somebody else's desk; this fails at compile time and says why. Packages of
// format/ and ndarray itself build without cgo.
type _ h5_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
