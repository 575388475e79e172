// Configuration of the tests with AddressSanitizer. This build of libhdf5 contains its assertions,
// which reject two kinds of valid files. The first are files with heaps that may grow larger than a
// length field can express, for example a heap of many attributes with lengths of fewer than 5
// bytes (H5HF__hdr_create). The second are files with addresses of 16 bytes, because an assertion
// reads a 17th byte after the address table on the stack (H5F_addr_decode_len). A normal build
// handles both, because it contains no assertions.

//go:build asan

package h5file_test

const (
	strictHeaps     = true
	strictAddresses = true
)
