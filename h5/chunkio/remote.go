// Reads of files whose ranges can be fetched in parallel before they are read.

package chunkio

import (
	"context"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/ahead"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// fetchIndex reads the chunk index in Go, which fetches its nodes level by level. libhdf5 would
// wait for each node. Errors are those of libhdf5, which reads the index afterwards.
func (s *dataset) fetchIndex(d *h5.Dataset) {
	if s.remote == nil {
		return
	}
	info, err := d.Stat()
	if err != nil {
		return
	}
	f, err := h5file.Open(s.remote, s.size, nil)
	if err != nil {
		return
	}
	o, err := f.Object(h5file.Addr(info.Address))
	if err != nil {
		return
	}
	for _, err := range o.Chunks() {
		if err != nil {
			return
		}
	}
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
