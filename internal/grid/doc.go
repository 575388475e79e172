// Package grid computes with shapes: products with overflow checks, grids of chunks, automatic
// chunk shapes, and slabs of chunks.
package grid
