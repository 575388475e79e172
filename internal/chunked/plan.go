// Mapping of a region to the chunks of an array.

package chunked

import (
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// Layout describes the chunks of an array and the elements in them.
type Layout struct {
	grid.Grid
	Item    int     // bytes of a stored element
	Strides []int64 // bytes between neighbouring elements of a chunk in row-major order
}

// NewLayout returns the layout of an array with elements of item bytes. The lengths in chunk must
// be positive. The layout uses the slices.
func NewLayout(shape, chunk []int64, item int) Layout {
	return Layout{grid.Of(shape, chunk), item, boxes.Strides(chunk, item)}
}

// Plan lists the chunks of a region.
type Plan struct {
	Chunks  int64   // number of touched chunks
	Strides []int64 // bytes between neighbouring elements of the caller's buffer along each axis

	layout *Layout
	axes   []Axis
}

// NewPlan maps a region, given by its axes, to the chunks. The elements of the caller's buffer have
// item bytes, which differs from l.Item if the caller converts them. The plan uses axes.
func NewPlan(l *Layout, axes []Axis, item int) *Plan {
	p := &Plan{layout: l, axes: axes, Chunks: 1, Strides: make([]int64, len(axes))}
	step := int64(item)
	for i := len(axes) - 1; i >= 0; i-- {
		axes[i].over(l.Chunk[i])
		p.Chunks *= axes[i].touched
		p.Strides[i] = step
		step *= axes[i].Len()
	}
	return p
}

// Piece is the part of a region in one chunk. In the caller's buffer it is a box. In the chunk it
// is a box too, unless the region is strided there.
type Piece struct {
	Offset   []int64 // of the chunk in the array, elements
	Start    []int64 // of the piece in the chunk
	Span     []int64 // of the bounding box in the chunk
	Count    []int64 // of the piece: as Span, without the elements between blocks
	Number   int64   // of the chunk in the grid, in row-major order
	InChunk  int64   // offset of the piece in a chunk in row-major order, bytes
	InBuffer int64   // offset of the piece in the caller's buffer, bytes
	Elements int64

	Whole   bool // the piece is the whole chunk
	Data    bool // the piece is the whole part of the chunk inside the array
	Edge    bool // the chunk extends beyond the array
	Strided bool // the piece is smaller than its bounding box

	rows []row
}

// NewPiece returns a piece for At.
func (p *Plan) NewPiece() *Piece {
	rank := len(p.axes)
	v := make([]int64, 4*rank)
	return &Piece{Offset: v[:rank], Start: v[rank : 2*rank], Span: v[2*rank : 3*rank], Count: v[3*rank:], rows: make([]row, rank)}
}

// Number returns the number in the grid of the k-th touched chunk.
func (p *Plan) Number(k int64) int64 {
	n, step := int64(0), int64(1)
	for i := len(p.axes) - 1; i >= 0; i-- {
		c := &p.axes[i]
		n += c.at(k%c.touched) * step
		k /= c.touched
		step *= p.layout.Counts[i]
	}
	return n
}

// At sets q to the piece in the k-th touched chunk, in row-major order.
func (p *Plan) At(k int64, q *Piece) {
	g := p.layout
	q.Number, q.InChunk, q.InBuffer, q.Elements = 0, 0, 0, 1
	q.Whole, q.Data, q.Edge, q.Strided = true, true, false, false
	for i := len(p.axes) - 1; i >= 0; i-- {
		c := &p.axes[i]
		q.Offset[i] = c.at(k % c.touched) // in chunks; converted to elements below
		k /= c.touched
	}
	for i, c := range g.Chunk {
		q.Number = q.Number*g.Counts[i] + q.Offset[i]
		q.Offset[i] *= c
		left := g.Shape[i] - q.Offset[i]
		end := q.Offset[i] + min(c, left)
		start, span, count, skipped := p.axes[i].inside(q.Offset[i], end, &q.rows[i])
		q.Start[i], q.Span[i], q.Count[i] = start-q.Offset[i], span, count
		q.InChunk += q.Start[i] * g.Strides[i]
		q.InBuffer += skipped * p.Strides[i]
		q.Elements *= count
		q.Whole = q.Whole && count == c
		q.Strided = q.Strided || count < span
		q.Edge = q.Edge || c > left
		q.Data = q.Data && count == end-q.Offset[i]
	}
}

// Box returns the box that copies the piece from a chunk in row-major order to the caller's buffer.
// The piece must not be strided.
func (p *Plan) Box(q *Piece) boxes.Box {
	return boxes.New(q.Count, p.Strides, p.layout.Strides, p.layout.Item)
}

// Collect copies the elements of the piece from a chunk, or from a box of one, to a buffer. src
// begins at the first element of the piece. to and from are the strides in bytes.
func (p *Plan) Collect(q *Piece, dst []byte, to []int64, src []byte, from []int64) {
	if q.Strided {
		p.copySteps(q, src, dst, from, to, p.layout.Item, true)
		return
	}
	b := boxes.New(q.Count, to, from, p.layout.Item)
	b.Copy(dst, src)
}

// Gather copies the elements of the piece from a chunk in row-major order to the caller's buffer,
// whose first byte is that of the piece.
func (p *Plan) Gather(q *Piece, dst, chunk []byte) {
	p.Collect(q, dst, p.Strides, chunk[q.InChunk:], p.layout.Strides)
}

// Spread copies the elements of the piece from the caller's buffer into a chunk in row-major order.
func (p *Plan) Spread(q *Piece, chunk, src []byte) {
	if q.Strided {
		p.copySteps(q, chunk[q.InChunk:], src, p.layout.Strides, p.Strides, p.layout.Item, false)
		return
	}
	b := boxes.New(q.Count, p.layout.Strides, p.Strides, p.layout.Item)
	b.Copy(chunk[q.InChunk:], src)
}
