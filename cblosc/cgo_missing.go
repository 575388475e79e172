//go:build !cgo

package cblosc

// Without cgo there is no C-Blosc2 to bind. This fails at compile time and names the reason,
// because a stub would fail only at run time. The packages of format/ and ndarray itself build
// without cgo.
type _ cblosc_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
