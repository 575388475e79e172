// Strided regions: the chunks they touch, and their elements in a chunk.

package chunkio

import (
	"sort"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/boxes"
)

// A comb is a region along one axis: blocks of elements that begin stride elements apart. A region
// without gaps is a single block.
type comb struct {
	start, count, stride, block int64

	// Used by at to find the k-th touched chunk.
	chunk, first, touched int64
	before                []int64 // number of touched chunks before each block, if some chunks between blocks are not touched
}

// newComb returns the region along one axis. ok is false if the region is empty or not inside
// extent elements.
func newComb(r *h5.Region, axis int, extent int64) (c comb, ok bool) {
	c = comb{start: r.Start[axis], count: r.Count[axis], stride: 1, block: 1}
	if r.Stride != nil {
		c.stride = r.Stride[axis]
	}
	if r.Block != nil {
		c.block = r.Block[axis]
	}
	if c.start < 0 || c.count < 1 || c.block < 1 || c.stride < 1 || c.start >= extent || c.block > extent-c.start ||
		c.count > 1 && (c.stride < c.block || c.count-1 > (extent-c.start-c.block)/c.stride) {
		return c, false
	}
	if c.count == 1 || c.stride == c.block {
		c.block *= c.count
		c.count, c.stride = 1, c.block
	}
	return c, true
}

// elements returns the number of elements.
func (c *comb) elements() int64 { return c.count * c.block }

// over maps the comb to chunks of the given length.
func (c *comb) over(chunk int64) {
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
func (c *comb) at(k int64) int64 {
	switch {
	case c.before != nil:
		i := sort.Search(len(c.before), func(i int) bool { return c.before[i] > k }) - 1
		return (c.start+int64(i)*c.stride)/c.chunk + k - c.before[i]
	case c.stride-c.block >= c.chunk:
		return (c.start + k*c.stride) / c.chunk
	}
	return c.first + k
}

// A row is the part of a comb in a chunk: a block that the beginning of the chunk cuts, whole
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

// inside returns the part of the comb in the elements from lo to hi, which it must touch: its start
// in the dataset, the number of elements it spans, the number of elements it has, and the number of
// elements of the comb before it.
func (c *comb) inside(lo, hi int64, r *row) (start, span, count, skipped int64) {
	i := int64(0) // the first block that ends after lo; count*stride can exceed 2^63-1
	if behind := lo - c.start - c.block; behind >= 0 {
		i = behind/c.stride + 1
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

// depth returns the maximum number of nested loops for a piece of these combs.
func depth(combs []comb) int {
	n := len(combs)
	for i := range combs {
		if combs[i].count > 1 && combs[i].block > 1 {
			n++
		}
	}
	return n
}

// copySteps copies the elements of a piece between a buffer that also contains the elements between
// blocks (apart) and one that contains only the piece (together). Both begin at the first element
// of the piece. wide and narrow are their strides in bytes.
func (p *plan) copySteps(q *piece, apart, together []byte, wide, narrow []int64, item int, collect bool) {
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
				n[axes], a[axes], t[axes] = b.n, p.combs[d].stride*wide[d], b.size*narrow[d]
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
