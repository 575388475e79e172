// See asan_test.go.

//go:build !asan

package hdf5_test

const (
	strictHeaps     = false
	strictAddresses = false
)
