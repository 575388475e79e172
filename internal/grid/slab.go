// Slabs divide a region into pieces that are consecutive in its buffer. Between slabs a backend can
// check the context and let other calls run.

package grid

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// SlabBytes is the maximum size of a slab of several rows of chunks.
const SlabBytes = 4 << 20

// variableSize is the number of bytes that count for an element of variable size.
const variableSize = 64

// Slabs divides r along its first axis longer than 1, at borders of chunks. Each slab is one row of
// chunks, or as many rows as fit about 4 MiB. An array that is not chunked, with a nil chunk, can
// be divided at any element. In order, the slabs fill the row-major buffer of r without gaps.
// Elements have size bytes; 0 means that their size is variable.
func Slabs(chunk []int64, size int, r Box) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		axis := 0
		for axis < len(r.Shape)-1 && r.Shape[axis] == 1 {
			axis++
		}
		if len(r.Shape) == 0 || r.Shape[axis] == 0 {
			yield(r)
			return
		}
		unit := int64(1)
		if chunk != nil {
			unit = chunk[axis]
		}
		elements, ok := Product(r.Shape)
		if !ok {
			elements = math.MaxInt64
		}
		row := elements / r.Shape[axis] * int64(cmp.Or(size, variableSize)) // bytes of one element along axis
		step := max(SlabBytes/max(row, 1)/unit, 1) * unit
		end := r.Start[axis] + r.Shape[axis]
		for at := r.Start[axis]; at < end; {
			next := at + min(step-at%step, end-at)
			s := Box{slices.Clone(r.Start), slices.Clone(r.Shape)}
			s.Start[axis], s.Shape[axis] = at, next-at
			if !yield(s) {
				return
			}
			at = next
		}
	}
}
