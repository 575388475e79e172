//go:build !cgo

package lib

// The type does not exist, so that the error of the compiler contains the instruction. This package
// is the only one to fail, because the packages that need cgo import it and compile after it.
type _ hyperslab_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
