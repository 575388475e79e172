// Package cmem allocates counted C memory. The shims and the Go code of this module use it for all
// memory from the C allocator, so that a test package can prove at its end that every block was
// freed.
//
// The C side is cmem.h (hyperslab_alloc, hyperslab_free), which the shims of cblosc and h5 include.
// Blocks that a C library allocates itself are not counted here; that library's own function frees
// them.
package cmem
