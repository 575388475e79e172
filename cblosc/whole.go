// Reads of whole chunks. The filter Delta stores differences to the first block of a chunk, and a
// dictionary belongs to the whole chunk. For a part of a chunk, however, the library decodes only
// the blocks of that part. So each such chunk that a region touches is decompressed whole, and Go
// copies its elements.

package cblosc

// #include "shim.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// usesDelta reports whether p uses the filter Delta.
func (p *CParams) usesDelta() bool {
	return slices.ContainsFunc(p.Filters[:], func(f Filter) bool { return f.ID == Delta })
}

// readLocked reads r into dst. r must not be empty.
func (a *Array) readLocked(op string, dst []byte, r *region) error {
	if a.rank > 0 && a.sc.entire {
		return a.readWholeLocked(op, dst, r)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_read(&cerr, a.sc.h.c, &r.start[0], &r.stop[0], &r.shape[0],
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int64_t(len(dst))) < 0 {
		return a.sc.h.failed(op, &cerr)
	}
	return nil
}

// readWholeLocked reads r chunk by chunk.
func (a *Array) readWholeLocked(op string, dst []byte, r *region) error {
	b := make([]byte, a.sc.facts.chunksize)
	return a.eachChunk(r, func(i int64, origin *[maxDims]int64) error {
		var cerr C.goblosc2_err_t
		if C.goblosc2_schunk_decompress(&cerr, a.sc.h.c, C.int64_t(i), (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(len(b))) < 0 {
			return a.sc.h.failed(op, &cerr)
		}
		a.place(dst, r, b, origin, false)
		return nil
	})
}

// writeLocked writes src to r, which must not be empty.
func (a *Array) writeLocked(op string, src []byte, r *region) error {
	if a.sc.facts.guarded != 0 {
		return a.writeWholeLocked(op, src, r)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_write(&cerr, a.sc.h.c, &r.start[0], &r.stop[0], &r.shape[0],
		(*C.uint8_t)(unsafe.SliceData(src)), C.int64_t(len(src)), &a.sc.facts) < 0 {
		return a.sc.h.breakOn(a.sc.h.failed(op, &cerr))
	}
	return nil
}

// eachChunk calls f with the index and the first element of each chunk that r touches. r must not
// be empty.
func (a *Array) eachChunk(r *region, f func(i int64, origin *[maxDims]int64) error) error {
	// Walk the grid of chunks inside r, the last dimension fastest.
	var first, n, at, stride, origin [maxDims]int64
	step := int64(1)
	for i := a.rank - 1; i >= 0; i-- {
		c := int64(a.geometry.chunks[i])
		first[i] = int64(r.start[i]) / c
		n[i] = (int64(r.stop[i])-1)/c - first[i] + 1
		stride[i] = step
		step *= grid.DivUp(int64(a.geometry.shape[i]), c)
	}
	for {
		number := int64(0)
		for i := range a.rank {
			number += (first[i] + at[i]) * stride[i]
			origin[i] = (first[i] + at[i]) * int64(a.geometry.chunks[i])
		}
		if err := f(number, &origin); err != nil {
			return err
		}
		i := a.rank - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < n[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// place copies the elements of r that are in the chunk at origin from b, the chunk's data, to the
// buffer of r, or back if write is set. In b the blocks are stored in row-major order, and so are
// the elements of a block.
func (a *Array) place(buf []byte, r *region, b []byte, origin *[maxDims]int64, write bool) {
	g, size := &a.geometry, int64(a.sc.facts.typesize)
	last := a.rank - 1
	var lo, hi, at, blockStride, elemStride, bufStride [maxDims]int64
	blockItems, blocks, elems := int64(1), int64(1), int64(1)
	for i := last; i >= 0; i-- {
		lo[i] = max(int64(r.start[i]), origin[i])
		hi[i] = min(int64(r.stop[i]), origin[i]+int64(g.chunks[i]))
		elemStride[i], blockStride[i], bufStride[i] = blockItems, blocks, elems
		blockItems *= int64(g.blocks[i])
		blocks *= grid.DivUp(int64(g.chunks[i]), int64(g.blocks[i]))
		elems *= int64(r.shape[i])
	}
	for at = lo; ; {
		from, to := int64(0), int64(0)
		for i := range a.rank {
			c, block := at[i]-origin[i], int64(g.blocks[i])
			from += c/block*blockStride[i]*blockItems + c%block*elemStride[i]
			to += (at[i] - int64(r.start[i])) * bufStride[i]
		}
		// Number of elements up to the end of the block, or of r, in the last dimension.
		n := min(int64(g.blocks[last])-(at[last]-origin[last])%int64(g.blocks[last]), hi[last]-at[last])
		outside, inside := buf[to*size:(to+n)*size], b[from*size:(from+n)*size]
		if write {
			outside, inside = inside, outside
		}
		copy(outside, inside)
		i := last
		for at[i] += n; at[i] == hi[i]; at[i]++ {
			at[i] = lo[i]
			if i--; i < 0 {
				return
			}
		}
	}
}
