// Reads of files whose ranges can be fetched in parallel before they are read.

package chunkio

import (
	"context"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/ahead"
	"github.com/hyperslab/hyperslab/internal/ceil"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// fetchIndex reads the chunk index in Go, which fetches its nodes level by level. libhdf5 would
// wait for each node. Errors are those of libhdf5, which reads the index afterwards.
func (s *dataset) fetchIndex(d *h5.Dataset) {
	o, _ := s.header(d)
	if o == nil {
		return
	}
	for _, err := range o.Chunks() {
		if err != nil {
			return
		}
	}
}

// header returns the object header of a dataset of a remote file and the offset of addresses. It is
// nil for another file, and for a header that cannot be read.
func (s *dataset) header(d *h5.Dataset) (o *h5file.Object, base int64) {
	if s.remote == nil {
		return nil, 0
	}
	info, err := d.Stat()
	if err != nil {
		return nil, 0
	}
	f, err := h5file.Open(s.remote, s.size, nil)
	if err != nil {
		return nil, 0
	}
	if o, err = f.Object(h5file.Addr(info.Address)); err != nil {
		return nil, 0
	}
	return o, f.UserBlock()
}

// A partIndex contains the locations of the chunks with elements from start to before end.
type partIndex struct {
	index
	start, end []int64
}

// covers reports whether the index contains the chunks of a part of the dataset.
func (x *partIndex) covers(start, end []int64) bool {
	for i := range start {
		if start[i] < x.start[i] || end[i] > x.end[i] {
			return false
		}
	}
	return true
}

// The nodes of an index are read for each region, until the regions together had so many chunks
// that the whole index is cheaper.
const (
	smallIndex = 128 // chunks of a dataset whose whole index is read at once
	eachRegion = 8   // chunks that a region counts in addition to its own
)

// readRemote returns the locations of the chunks of the region in a remote file, and of the regions
// of the pass of ctx.
func (c *call) readRemote(ctx context.Context) (*index, error) {
	start, end := slices.Clone(c.r.Start), make([]int64, len(c.r.Start))
	for i := range start {
		stride, block := c.steps(i)
		end[i] = start[i] + (c.r.Count[i]-1)*stride + block
	}
	c.set.mu.Lock()
	x := c.set.have(start, end)
	c.set.mu.Unlock()
	if x != nil {
		return x, nil
	}
	// A pass of another array is possible, for example of the source of a virtual dataset.
	if first, last := ahead.Current(ctx).Bounds(); c.set.inside(first, last) {
		for i := range first {
			start[i], end[i] = min(start[i], first[i]), max(end[i], last[i])
		}
	}
	return c.set.readPart(c.d, start, end)
}

// readPart returns the locations of the chunks with elements from start to before end. It reads
// only the nodes of the index that contain them. It returns the whole index if that is cheaper, or
// if the nodes are corrupt, so that libhdf5 returns the error.
func (s *dataset) readPart(d *h5.Dataset, start, end []int64) (*index, error) {
	if x := s.findPart(d, start, end); x != nil {
		return x, nil
	}
	return s.readIndex(d)
}

// have returns an index that contains the chunks with elements from start to before end, or nil.
// The caller holds the lock.
func (s *dataset) have(start, end []int64) *index {
	switch {
	case s.index != nil:
		return s.index
	case s.part != nil && s.part.covers(start, end):
		return &s.part.index
	}
	return nil
}

// findPart returns nil if the whole index must be read.
func (s *dataset) findPart(d *h5.Dataset, start, end []int64) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.have(start, end); x != nil {
		return x
	}
	chunks := int64(1)
	for i, n := range s.info.ChunkShape {
		chunks *= ceil.Div(end[i], n) - start[i]/n
	}
	if s.touched.Add(chunks+eachRegion) > s.total/2 || s.total <= smallIndex {
		return nil
	}
	o, base := s.header(d)
	if o == nil {
		return nil
	}
	x := &partIndex{index{sparse: make(map[int64]entry)}, start, end}
	from, count := make([]uint64, len(start)), make([]uint64, len(start))
	for i := range start {
		from[i], count[i] = uint64(start[i]), uint64(end[i]-start[i])
	}
	for k, err := range o.ChunksIn(from, count) {
		if err != nil || k.Unsure != nil || k.Size > math.MaxUint32 {
			return nil
		}
		number := int64(0)
		for i, at := range k.Offset {
			number = number*s.grid.Counts[i] + int64(at)/s.info.ChunkShape[i]
		}
		x.sparse[number] = entry{uint64(k.Addr) + uint64(base), uint32(k.Size), k.Mask}
	}
	s.part = x
	return &x.index
}

// inside reports whether the elements from start to before end are a part of the dataset.
func (s *dataset) inside(start, end []int64) bool {
	if rank := len(s.info.Space.Dims); len(start) != rank || len(end) != rank {
		return false
	}
	for i, d := range s.info.Space.Dims {
		if start[i] < 0 || end[i] <= start[i] || end[i] > d {
			return false
		}
	}
	return true
}

const (
	wholeChunk  = 256 << 10 // bytes of a chunk that is fetched even if the region needs few of its blocks
	wholeRegion = 32 << 20  // bytes of the chunks of a region that are fetched so, up to wholeLarge bytes each
	wholeLarge  = 4 << 20   // because a second request for each chunk takes longer
	chunkHead   = 4 << 10   // bytes of a chunk that contain its header
)

// ranges yields the places of the chunks of a region in the file, in the order of the reads.
func (c *call) ranges(x *index) ahead.Ranges {
	return func(yield func(off, n int64) bool) {
		q := c.plan.NewPiece()
		r := &reader{c: c, x: x, q: q}
		whole := int64(wholeChunk)
		if c.plan.Chunks <= wholeRegion/wholeChunk {
			whole = min(wholeRegion/max(c.plan.Chunks, 1), wholeLarge)
		}
		for k := range c.plan.Chunks {
			c.plan.At(k, q)
			e := x.at(q.Number)
			if e.bytes == 0 || c.set.holds(e) != nil {
				continue
			}
			if r.plain(e) && r.some() {
				for off, n := range r.rows {
					if !yield(int64(e.address)+off, n) {
						return
					}
				}
				continue
			}
			n := int64(e.bytes)
			if n > whole && e.mask == 0 && c.set.pipeline.Partial() && !c.set.unfiltered(q) && r.some() {
				n = chunkHead // the blocks of the region are known after the header was read
			}
			if !yield(int64(e.address), n) {
				return
			}
		}
	}
}

// scan yields the ranges of all regions of a pass through the dataset.
func (c *call) scan(ctx context.Context, x *index) ahead.Ranges {
	pass := ahead.Current(ctx)
	return func(yield func(off, n int64) bool) {
		for start, shape := range pass.Regions {
			part := &call{op: c.op, d: c.d, mem: c.mem, r: h5.Region{Start: start, Count: shape}, set: c.set}
			size := int64(c.mem.Size)
			for _, n := range shape {
				size *= n
			}
			axes := part.axes(int(size))
			if axes == nil {
				return // the regions are those of another array
			}
			part.plan = chunked.NewPlan(&c.set.grid, axes, c.mem.Size)
			for off, n := range part.ranges(x) {
				if !yield(off, n) {
					return
				}
			}
		}
	}
}
