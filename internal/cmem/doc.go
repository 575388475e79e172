// Package cmem is counted C memory: what our shims and our Go code take from
// the C allocator goes through here, so that a test package can prove at its
// end that nothing was left behind.
//
// The C side is cmem.h (hyperslab_alloc, hyperslab_free); the shims of cblosc
// and h5 include it. Blocks that a C library allocates itself are not counted
// here and are freed by that library's own function.
package cmem
