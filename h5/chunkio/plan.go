// How a region lies in the chunks of a dataset.

package chunkio

import (
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/boxes"
)

// A plan is the chunks that a region touches.
type plan struct {
	set     *dataset
	r       h5.Region
	strides []int64 // of the caller's buffer, whose elements have another size if they are converted, bytes
	first   []int64 // chunk, in chunks
	n       []int64 // chunks along each axis
	chunks  int64
}

func newPlan(set *dataset, r h5.Region, item int) *plan {
	p := &plan{set: set, r: r, strides: boxes.Strides(r.Count, item), chunks: 1}
	for i, c := range set.info.Chunks {
		first := r.Start[i] / c
		n := (r.Start[i]+r.Count[i]-1)/c - first + 1
		p.first, p.n = append(p.first, first), append(p.n, n)
		p.chunks *= n
	}
	return p
}

// A piece is what a region has of one chunk.
type piece struct {
	offset            []int64 // of the chunk in the dataset, elements
	start             []int64 // of the piece in the chunk
	count             []int64
	number            int64 // of the chunk in the grid
	inChunk, inBuffer int64 // where the piece begins, bytes
	elements          int64

	chunk bool // the piece is all of the chunk
	data  bool // the piece is all of the chunk that is inside the dataset
	edge  bool // the chunk sticks out of the dataset
}

func (p *plan) newPiece() *piece {
	rank := len(p.first)
	v := make([]int64, 3*rank)
	return &piece{offset: v[:rank], start: v[rank : 2*rank], count: v[2*rank:]}
}

// at makes q the k-th piece.
func (p *plan) at(k int64, q *piece) {
	set := p.set
	q.number, q.inChunk, q.inBuffer, q.elements = 0, 0, 0, 1
	q.chunk, q.data, q.edge = true, true, false
	for i := len(p.first) - 1; i >= 0; i-- {
		q.offset[i] = p.first[i] + k%p.n[i] // in chunks, for now
		k /= p.n[i]
	}
	for i, c := range set.info.Chunks {
		q.number = q.number*set.grid[i] + q.offset[i]
		q.offset[i] *= c
		end := q.offset[i] + c
		from := max(p.r.Start[i], q.offset[i])
		to := min(p.r.Start[i]+p.r.Count[i], end)
		q.start[i], q.count[i] = from-q.offset[i], to-from
		q.inChunk += q.start[i] * set.strides[i]
		q.inBuffer += (from - p.r.Start[i]) * p.strides[i]
		q.elements *= q.count[i]
		q.chunk = q.chunk && q.count[i] == c
		if end > set.info.Space.Dims[i] {
			q.edge = true
			end = set.info.Space.Dims[i]
		}
		q.data = q.data && from == q.offset[i] && to == end
	}
}

// toBuffer copies the piece between a chunk and the caller's buffer.
func (p *plan) toBuffer(q *piece) boxes.Box {
	return boxes.New(q.count, p.strides, p.set.strides, p.set.item)
}

func (p *plan) toChunk(q *piece) boxes.Box {
	return boxes.New(q.count, p.set.strides, p.strides, p.set.item)
}

// unfiltered reports a chunk that the dataset's creator wanted stored as it is.
func (s *dataset) unfiltered(q *piece) bool { return q.edge && s.info.PlainEdges }
