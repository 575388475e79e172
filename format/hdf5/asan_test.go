// With AddressSanitizer the library has its assertions, and refuses to make the heap of
// many attributes where lengths have 4 bytes, which the product makes.

//go:build asan

package hdf5_test

const strictHeaps = true
