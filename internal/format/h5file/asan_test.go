// With AddressSanitizer the library has its assertions, and what it has beside them. It
// refuses to make heaps that may grow beyond what a length can say, as that of many
// attributes where lengths have fewer than 5 bytes (H5HF__hdr_create), which the product
// makes. And of addresses of 16 bytes one of its assertions looks at a 17th
// (H5F_addr_decode_len), which is behind the table on the stack that they come from: the
// product, which has no assertions, does not.

//go:build asan

package h5file_test

const (
	strictHeaps     = true
	strictAddresses = true
)
