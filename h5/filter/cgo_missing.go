//go:build !cgo

package filter

// Without cgo, there are no codecs to call; see h5/cgo_missing.go.
type _ h5_filter_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
