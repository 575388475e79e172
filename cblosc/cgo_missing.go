//go:build !cgo

package cblosc

// Without cgo there is no C-Blosc2 to bind. A stub would fail at run time, at
// somebody else's desk; this fails at compile time and says why. Packages of
// format/ and ndarray itself build without cgo.
type _ cblosc_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
