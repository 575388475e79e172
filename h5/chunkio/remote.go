// Reads of files whose ranges can be fetched in parallel before they are read.

package chunkio

import (
	"github.com/hyperslab/hyperslab/h5"
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
	mostRanges = 1 << 20   // ranges that are planned before a read
	wholeChunk = 256 << 10 // bytes of a chunk that is fetched even if the region needs few of its blocks
	chunkHead  = 4 << 10   // bytes of a chunk that contain its header
)

// ranges returns the places of the chunks of a region in the file, in the order of the reads.
func (c *call) ranges(x *index) (list [][2]int64) {
	q := c.plan.newPiece()
	r := &reader{c: c, x: x, q: q}
	for k := range min(c.plan.chunks, mostRanges) {
		c.plan.at(k, q)
		e := x.at(q.number)
		if e.bytes == 0 || c.set.holds(e) != nil {
			continue
		}
		n := int64(e.bytes)
		if n > wholeChunk && e.mask == 0 && c.set.pipeline.Partial() && !c.set.unfiltered(q) && r.some() {
			n = chunkHead // the blocks of the region are known after the header was read
		}
		list = append(list, [2]int64{int64(e.address), n})
	}
	return list
}
