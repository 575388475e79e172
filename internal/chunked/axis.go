// The elements of a region along one axis, and the chunks that they touch.

package chunked

import (
	"sort"

	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// Axis is a region along one axis: blocks of elements that begin stride elements apart. A region
// without gaps is a single block.
type Axis struct {
	start, count, stride, block int64

	// Used by at to find the k-th touched chunk.
	chunk, first, touched int64
	before                []int64 // number of touched chunks before each block, if some chunks between blocks are not touched
}

// NewAxis returns count blocks of block elements that begin stride elements apart. ok is false if
// there are no elements, or if they are not inside extent elements.
func NewAxis(start, count, stride, block, extent int64) (c Axis, ok bool) {
	c = Axis{start: start, count: count, stride: stride, block: block}
	if start < 0 || count < 1 || block < 1 || stride < 1 || start >= extent || block > extent-start ||
		count > 1 && (stride < block || count-1 > (extent-start-block)/stride) {
		return c, false
	}
	if count == 1 || stride == block {
		c.block *= count
		c.count, c.stride = 1, c.block
	}
	return c, true
}

// Len returns the number of elements.
func (c *Axis) Len() int64 { return c.count * c.block }

// over maps the axis to chunks of the given length.
func (c *Axis) over(chunk int64) {
	c.chunk, c.first = chunk, c.start/chunk
	last := c.start + (c.count-1)*c.stride + c.block - 1
	switch {
	case c.stride-c.block < chunk:
		c.touched = last/chunk - c.first + 1 // every gap is shorter than a chunk
	case c.block == 1:
		c.touched = c.count
	default:
		// No two blocks are in the same chunk. The number of chunks differs between blocks.
		c.before = make([]int64, c.count)
		for i := range c.before {
			c.before[i] = c.touched
			from := c.start + int64(i)*c.stride
			c.touched += (from+c.block-1)/chunk - from/chunk + 1
		}
	}
}

// at returns the number of the k-th touched chunk.
func (c *Axis) at(k int64) int64 {
	switch {
	case c.before != nil:
		i := sort.Search(len(c.before), func(i int) bool { return c.before[i] > k }) - 1
		return (c.start+int64(i)*c.stride)/c.chunk + k - c.before[i]
	case c.stride-c.block >= c.chunk:
		return (c.start + k*c.stride) / c.chunk
	}
	return c.first + k
}

// A row is the part of an axis in a chunk: a block that the beginning of the chunk cuts, whole
// blocks, and one that its end cuts. Each of them may be missing.
type row struct {
	parts [3]blocks
	n     int
}

// blocks are n blocks of size elements. from is the offset of the first block in the piece's
// bounding box in the chunk. to is its offset in the piece in the buffer.
type blocks struct{ n, size, from, to int64 }

func (r *row) add(b blocks) {
	if b.n > 0 && b.size > 0 {
		r.parts[r.n] = b
		r.n++
	}
}

// inside returns the part of the axis in the elements from lo to hi, which it must touch: its start
// in the dataset, the number of elements it spans, the number of elements it has, and the number of
// elements of the axis before it.
func (c *Axis) inside(lo, hi int64, r *row) (start, span, count, skipped int64) {
	i := int64(0) // the first block that ends after lo; count*stride can exceed 2^63-1
	if past := lo - c.start - c.block; past >= 0 {
		i = past/c.stride + 1
	}
	j := min(c.count-1, (hi-1-c.start)/c.stride) // the last block that begins before hi
	first, last := c.start+i*c.stride, c.start+j*c.stride
	start = max(lo, first)
	end := min(hi, last+c.block)
	skipped = i*c.block + start - first
	*r = row{}
	switch head, tail := first+c.block-start, end-last; {
	case i == j:
		r.add(blocks{1, end - start, 0, 0})
		return start, end - start, end - start, skipped
	default:
		whole, from := j-i+1, int64(0)
		if head < c.block {
			r.add(blocks{1, head, 0, 0})
			whole, from = whole-1, first+c.stride-start
			count = head
		}
		if tail < c.block {
			whole--
		}
		r.add(blocks{whole, c.block, from, count})
		count += whole * c.block
		if tail < c.block {
			r.add(blocks{1, tail, last - start, count})
			count += tail
		}
	}
	return start, end - start, count, skipped
}

// Loops returns the maximum number of nested loops for a piece of these axes. It must be at most
// boxes.MaxRank.
func Loops(axes []Axis) int {
	n := len(axes)
	for i := range axes {
		if axes[i].count > 1 && axes[i].block > 1 {
			n++
		}
	}
	return n
}

// copySteps copies the elements of a piece between a buffer that also contains the elements between
// blocks (apart) and one that contains only the piece (together). Both begin at the first element
// of the piece. wide and narrow are their strides in bytes.
func (p *Plan) copySteps(q *Piece, apart, together []byte, wide, narrow []int64, item int, collect bool) {
	var part [boxes.MaxRank]int
	rank := len(q.rows)
	for {
		var n, a, t [boxes.MaxRank]int64
		axes, from, to := 0, int64(0), int64(0)
		for d := range rank {
			b := q.rows[d].parts[part[d]]
			from += b.from * wide[d]
			to += b.to * narrow[d]
			if b.n > 1 {
				n[axes], a[axes], t[axes] = b.n, p.axes[d].stride*wide[d], b.size*narrow[d]
				axes++
			}
			if b.size > 1 || b.n == 1 {
				n[axes], a[axes], t[axes] = b.size, wide[d], narrow[d]
				axes++
			}
		}
		if collect {
			box := boxes.New(n[:axes], t[:axes], a[:axes], item)
			box.Copy(together[to:], apart[from:])
		} else {
			box := boxes.New(n[:axes], a[:axes], t[:axes], item)
			box.Copy(apart[from:], together[to:])
		}
		d := rank - 1
		for ; d >= 0; d-- {
			if part[d]++; part[d] < q.rows[d].n {
				break
			}
			part[d] = 0
		}
		if d < 0 {
			return
		}
	}
}
