// See asan_test.go.

//go:build !asan

package h5file_test

const (
	strictHeaps     = false
	strictAddresses = false
)
