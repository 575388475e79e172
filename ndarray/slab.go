// Slabs: a region in pieces that lie one after the other in its buffer, so that
// a backend can look at the context, and let others in, between them.

package ndarray

import "iter"

// slabBytes is how large a slab of several rows of chunks becomes at most.
const slabBytes = 4 << 20

// Slabs cuts r into pieces along its first axis longer than one, at borders of
// chunks: one row of chunks, or as many as make up about 4 MiB. An array that
// is not chunked is cut at any element. Piece by piece, in order, they fill the
// row-major buffer of r without gaps.
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
		row := r.NumElems() / r.Shape[axis] * m.DType.room() // bytes of one element along axis
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
