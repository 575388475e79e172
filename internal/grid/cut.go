// Division of a region into boxes in row-major order.

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

// Cut divides r into boxes of at most most elements, in row-major order. It divides the first axis
// into ranges, and the next axis only if one index of the first is too large, and so on.
//
// Chunks are counted from element 0, and a length of 0 counts as 1. No two boxes contain parts of
// one chunk, and a chunk with more elements than most is its own box, so that the elements of
// successive boxes need not be successive in r. If chunk is nil, they are: the boxes in their order
// fill the row-major buffer of r. An empty region has no boxes. The caller may keep the boxes.
func Cut(r Box, chunk []int64, most int64) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		if !slices.Contains(r.Shape, 0) {
			c := cutter{chunk, most, r.Clone(), yield}
			c.cut(0)
		}
	}
}

// cutter is the state of Cut: box is the part of the region that is divided along the next axis.
type cutter struct {
	chunk []int64
	most  int64
	box   Box
	yield func(Box) bool
}

func (c *cutter) cut(axis int) bool {
	if axis == len(c.box.Shape) || elements(c.box.Shape) <= c.most {
		return c.yield(c.box.Clone())
	}
	start, n := c.box.Start[axis], c.box.Shape[axis]
	unit := int64(1)
	if c.chunk != nil {
		unit = max(c.chunk[axis], 1)
	}
	c.box.Shape[axis] = 1
	step := max(c.most/elements(c.box.Shape)/unit, 1) * unit
	for at := start; at-start < n; at += c.box.Shape[axis] {
		c.box.Start[axis], c.box.Shape[axis] = at, min(step-at%unit, n-(at-start))
		if !c.cut(axis + 1) {
			return false
		}
	}
	c.box.Start[axis], c.box.Shape[axis] = start, n
	return true
}

// elements returns the number of elements of a shape, or the largest number if it is larger.
func elements(shape []int64) int64 {
	if n, ok := Product(shape); ok {
		return n
	}
	return math.MaxInt64
}

// Consecutive is Cut with boxes that fill the row-major buffer of r in their order, also if r is
// chunked: borders of chunks are respected along an axis only if a layer of chunks across the
// following axes has at most most elements.
func Consecutive(r Box, chunk []int64, most int64) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		p := NewPieces(r, chunk, most)
		for box, ok := p.Next(); ok && yield(box); box, ok = p.Next() {
		}
	}
}

// Pieces are the boxes of Consecutive, for a caller that takes them one at a time.
type Pieces struct {
	r          Box
	at         []int64 // the first element of the next box; nil after the last box
	axis       int     // the axis that is divided; along the axes before it boxes have the length 1
	unit, step int64   // of the division
}

// NewPieces returns the boxes of Consecutive.
func NewPieces(r Box, chunk []int64, most int64) *Pieces {
	p := &Pieces{r: r.Clone(), unit: 1, step: math.MaxInt64}
	if slices.Contains(r.Shape, 0) {
		return p
	}
	p.at = append([]int64{}, r.Start...)
	if len(r.Shape) == 0 || elements(r.Shape) <= most {
		return p
	}
	for p.axis < len(r.Shape)-1 && elements(r.Shape[p.axis+1:]) > most {
		p.axis++
	}
	layers := max(most/elements(r.Shape[p.axis+1:]), 1)
	if chunk != nil && chunk[p.axis] <= layers {
		p.unit = max(chunk[p.axis], 1)
	}
	p.step = layers / p.unit * p.unit
	return p
}

// Next returns the next box, which the caller may keep, and false after the last one.
func (p *Pieces) Next() (Box, bool) {
	if p.at == nil {
		return Box{}, false
	}
	if len(p.at) == 0 {
		p.at = nil
		return p.r.Clone(), true
	}
	box := Box{Start: slices.Clone(p.at), Shape: slices.Clone(p.r.Shape)}
	for i := range p.axis {
		box.Shape[i] = 1
	}
	start := p.at[p.axis]
	box.Shape[p.axis] = min(p.step-start%p.unit, p.r.Shape[p.axis]-(start-p.r.Start[p.axis]))
	p.at[p.axis] += box.Shape[p.axis]
	for i := p.axis; p.at[i]-p.r.Start[i] == p.r.Shape[i]; i-- {
		if i == 0 {
			p.at = nil
			break
		}
		p.at[i] = p.r.Start[i]
		p.at[i-1]++
	}
	return box, true
}

// Slabs divides r along its first axis longer than 1, at borders of chunks. Each slab is one row of
// chunks, or as many rows as fit about 4 MiB. An array that is not chunked, with a nil chunk, can
// be divided at any element. In order, the slabs fill the row-major buffer of r without gaps.
// Elements have size bytes; 0 means that their size is variable. Between slabs a backend can check
// the context and let other calls run.
func Slabs(chunk []int64, size int, r Box) iter.Seq[Box] {
	axis := 0
	for axis < len(r.Shape)-1 && r.Shape[axis] == 1 {
		axis++
	}
	most := int64(SlabBytes / cmp.Or(size, variableSize))
	if len(r.Shape) > 0 {
		row := slices.Clone(r.Shape[axis:]) // of chunks, which is not divided
		if row[0] = 1; chunk != nil {
			row[0] = max(chunk[axis], 1)
		}
		most = max(most, elements(row))
	}
	return Cut(r, chunk, most)
}
