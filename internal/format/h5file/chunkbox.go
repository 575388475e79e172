// Chunks of a region, for the nodes of an index that need not be read.

package h5file

import "slices"

// chunkBox contains the positions in the grid of the chunks of a region.
type chunkBox struct{ first, last []uint64 }

// newChunkBox returns the chunks of the region of shape count from element start, or nil if the
// region is empty or has another number of dimensions.
func newChunkBox(start, count, chunk, dims []uint64) *chunkBox {
	if len(start) != len(dims) || len(count) != len(dims) {
		return nil
	}
	b := &chunkBox{make([]uint64, len(dims)), make([]uint64, len(dims))}
	for i, d := range dims {
		if count[i] == 0 || start[i] >= d {
			return nil
		}
		b.first[i] = start[i] / chunk[i]
		b.last[i] = (start[i] + min(count[i], d-start[i]) - 1) / chunk[i]
	}
	return b
}

// contains reports whether the chunk with the first element offset is in the box.
func (b *chunkBox) contains(offset, chunk []uint64) bool {
	for i, o := range offset {
		if k := o / chunk[i]; k < b.first[i] || k > b.last[i] {
			return false
		}
	}
	return true
}

// between reports whether a position p of the box exists with left <= p < right in row-major order.
// nil means that there is no bound.
func (b *chunkBox) between(left, right []uint64) bool {
	p := b.first
	if left != nil {
		if p = b.from(left); p == nil {
			return false
		}
	}
	return right == nil || slices.Compare(p, right) < 0
}

// from returns the first position of the box that is not before left, or nil.
func (b *chunkBox) from(left []uint64) []uint64 {
	p := slices.Clone(left)
	for i, l := range left {
		if l < b.first[i] {
			copy(p[i:], b.first[i:])
			return p
		}
		if l <= b.last[i] {
			continue
		}
		for i--; i >= 0; i-- {
			if left[i] < b.last[i] {
				p[i]++
				copy(p[i+1:], b.first[i+1:])
				return p
			}
		}
		return nil
	}
	return p
}

// within reports whether the box contains one of n positions from number first of a row-major grid.
// The length of the first dimension of the grid is not used. A nil box contains all positions.
func (b *chunkBox) within(first, n uint64, grid []uint64) bool {
	if b == nil {
		return true
	}
	if n > ^uint64(0)-first {
		return b.between(position(first, grid), nil)
	}
	return b.between(position(first, grid), position(first+n, grid))
}

// position returns the position with number i of a row-major grid.
func position(i uint64, grid []uint64) []uint64 {
	p := make([]uint64, len(grid))
	for d := len(grid) - 1; d > 0; d-- {
		n := max(grid[d], 1)
		p[d] = i % n
		i /= n
	}
	p[0] = i
	return p
}

// extended returns the box with another dimension, the last one, of one position.
func (b *chunkBox) extended() *chunkBox {
	return &chunkBox{append(slices.Clone(b.first), 0), append(slices.Clone(b.last), 0)}
}

// moved returns the box with dimension d as the first one.
func (b *chunkBox) moved(d int) *chunkBox {
	if b == nil {
		return nil
	}
	return &chunkBox{toFront(b.first, d), toFront(b.last, d)}
}

// toFront returns a list that begins with element d of s.
func toFront(s []uint64, d int) []uint64 {
	return slices.Concat(s[d:d+1], s[:d], s[d+1:])
}
