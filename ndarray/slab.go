// Slabs divide a region into pieces that are consecutive in its buffer. Between slabs a backend can
// check the context and let other calls run.

package ndarray

import "iter"

// slabBytes is the maximum size of a slab of several rows of chunks.
const slabBytes = 4 << 20

// Slabs divides r along its first axis longer than 1, at borders of chunks. Each slab is one row of
// chunks, or as many rows as fit about 4 MiB. An array that is not chunked can be divided at any
// element. In order, the slabs fill the row-major buffer of r without gaps.
func (m Meta) Slabs(r Region) iter.Seq[Region] {
	return func(yield func(Region) bool) {
		axis := 0
		for axis < len(r.Shape)-1 && r.Shape[axis] == 1 {
			axis++
		}
		if len(r.Shape) == 0 || r.Shape[axis] == 0 {
			yield(r)
			return
		}
		chunk := int64(1)
		if m.ChunkShape != nil {
			chunk = m.ChunkShape[axis]
		}
		row := r.NumElems() / r.Shape[axis] * m.DType.memSize() // bytes of one element along axis
		step := max(slabBytes/max(row, 1)/chunk, 1) * chunk
		end := r.Start[axis] + r.Shape[axis]
		for at := r.Start[axis]; at < end; {
			next := at + min(step-at%step, end-at)
			s := r.Clone()
			s.Start[axis], s.Shape[axis] = at, next-at
			if !yield(s) {
				return
			}
			at = next
		}
	}
}
