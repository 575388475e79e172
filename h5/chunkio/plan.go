// Mapping of a region to the chunks of a dataset.

package chunkio

import (
	"github.com/hyperslab/hyperslab/internal/boxes"
)

// A plan contains the chunks in a region.
type plan struct {
	set     *dataset
	combs   []comb  // the region along each axis
	strides []int64 // of the caller's buffer in bytes; with a conversion its element size differs from that of the dataset
	chunks  int64
}

// newPlan maps a region, given by its axes, to the chunks.
func newPlan(set *dataset, combs []comb, item int) *plan {
	p := &plan{set: set, combs: combs, chunks: 1}
	shape := make([]int64, len(combs))
	for i, c := range set.info.ChunkShape {
		combs[i].over(c)
		p.chunks *= combs[i].touched
		shape[i] = combs[i].elements()
	}
	p.strides = boxes.Strides(shape, item)
	return p
}

// A piece is the part of a region in one chunk. In the caller's buffer it is a box. In the chunk it
// is a box too, unless the region is strided there.
type piece struct {
	offset            []int64 // of the chunk in the dataset, elements
	start             []int64 // of the piece in the chunk
	span              []int64 // of the bounding box in the chunk
	count             []int64 // of the piece: as span, without the elements between blocks
	rows              []row
	number            int64 // of the chunk in the grid
	inChunk, inBuffer int64 // offset of the piece, bytes
	elements          int64

	chunk bool // the piece is the whole chunk
	data  bool // the piece is the whole part of the chunk inside the dataset
	edge  bool // the chunk extends beyond the dataset
	steps bool // the piece is smaller than its bounding box
}

func (p *plan) newPiece() *piece {
	rank := len(p.combs)
	v := make([]int64, 4*rank)
	return &piece{offset: v[:rank], start: v[rank : 2*rank], span: v[2*rank : 3*rank], count: v[3*rank:], rows: make([]row, rank)}
}

// at sets q to the k-th piece.
func (p *plan) at(k int64, q *piece) {
	set := p.set
	q.number, q.inChunk, q.inBuffer, q.elements = 0, 0, 0, 1
	q.chunk, q.data, q.edge, q.steps = true, true, false, false
	for i := len(p.combs) - 1; i >= 0; i-- {
		c := &p.combs[i]
		q.offset[i] = c.at(k % c.touched) // in chunks; converted to elements below
		k /= c.touched
	}
	for i, c := range set.info.ChunkShape {
		q.number = q.number*set.grid[i] + q.offset[i]
		q.offset[i] *= c
		left := set.info.Space.Dims[i] - q.offset[i]
		end := q.offset[i] + min(c, left)
		start, span, count, skipped := p.combs[i].inside(q.offset[i], end, &q.rows[i])
		q.start[i], q.span[i], q.count[i] = start-q.offset[i], span, count
		q.inChunk += q.start[i] * set.strides[i]
		q.inBuffer += skipped * p.strides[i]
		q.elements *= count
		q.chunk = q.chunk && count == c
		q.steps = q.steps || count < span
		q.edge = q.edge || c > left
		q.data = q.data && count == end-q.offset[i]
	}
}

// toBuffer returns the box that copies the piece from a chunk to the caller's buffer. The piece
// must not have steps.
func (p *plan) toBuffer(q *piece) boxes.Box {
	return boxes.New(q.count, p.strides, p.set.strides, p.set.item)
}

// collect copies the elements of the piece from a chunk, or from a box of one, to a buffer for them
// alone. src begins at the first element of the piece.
func (p *plan) collect(q *piece, dst []byte, to []int64, src []byte, from []int64) {
	if q.steps {
		p.copySteps(q, src, dst, from, to, p.set.item, true)
		return
	}
	b := boxes.New(q.count, to, from, p.set.item)
	b.Copy(dst, src)
}

// spread copies the elements of the piece into a chunk.
func (p *plan) spread(q *piece, chunk, src []byte, from []int64) {
	if q.steps {
		p.copySteps(q, chunk[q.inChunk:], src, p.set.strides, from, p.set.item, false)
		return
	}
	b := boxes.New(q.count, p.set.strides, from, p.set.item)
	b.Copy(chunk[q.inChunk:], src)
}

// unfiltered reports whether the chunk is stored without filters because of the option PlainEdges.
func (s *dataset) unfiltered(q *piece) bool { return q.edge && s.info.PlainEdges }
