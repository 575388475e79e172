// Reads of files whose ranges can be fetched in parallel before they are read.

package chunkio

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
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

// readRemote returns the locations of the chunks of the region in a remote file.
func (c *call) readRemote() (*index, error) {
	start, end := slices.Clone(c.r.Start), make([]int64, len(c.r.Start))
	for i := range start {
		stride, block := c.steps(i)
		end[i] = start[i] + (c.r.Count[i]-1)*stride + block
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
		chunks *= grid.DivUp(end[i], n) - start[i]/n
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
		if err != nil || k.Unsure != nil || !k.Addr.Defined() || uint64(k.Addr) > math.MaxUint64-uint64(base) {
			return nil
		}
		number := int64(0)
		for i, at := range k.Offset {
			number = number*s.grid.Counts[i] + format.Size(at)/s.info.ChunkShape[i]
		}
		x.sparse[number] = entry{uint64(k.Addr) + uint64(base), k.Size, k.Mask, true}
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
func (c *call) ranges(x *index) readahead.Ranges {
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
			if !e.stored || c.set.holds(e) != nil {
				continue
			}
			if r.plain(e) && r.some() {
				for off, n := range r.rows {
					if !yield(format.Size(e.address)+off, n) {
						return
					}
				}
				continue
			}
			n := format.Size(e.bytes)
			if n > whole && e.mask == 0 && c.set.pipeline.Partial() && !c.set.unfiltered(q) && r.some() {
				n = chunkHead // the blocks of the region are known after the header was read
			}
			if !yield(format.Size(e.address), n) {
				return
			}
		}
	}
}

// Prefetch begins to fetch the stored chunks of regions in the background, in their order and in
// bounded memory, so that latency does not delay the calls of Read that follow. It is for files of
// h5.OpenReaderAt whose reader can fetch ranges in advance, for example a *remote.Object. mem is
// the datatype of those calls. regions yields the start and the shape of each region; the slices
// are valid until the next pair.
//
// The caller calls stop when it reads no more. ok is false if Prefetch fetches nothing: for other
// files, a dataset that is left to libhdf5 (see Fallback), regions outside the dataset, and errors,
// which Read returns.
func Prefetch(ctx context.Context, d *h5.Dataset, mem h5.Datatype, regions iter.Seq2[[]int64, []int64]) (stop func(), ok bool) {
	set, err := lookUp(d, false)
	if err != nil || set.why != "" || set.remote == nil {
		return nil, false
	}
	start, end := readahead.Bounds(regions)
	if !set.inside(start, end) {
		return nil, false
	}
	x, err := set.readPart(d, start, end)
	if err != nil {
		return nil, false
	}
	return set.remote.Prefetch(ctx, func(yield func(off, n int64) bool) {
		for start, shape := range regions {
			c := &call{op: "read", d: d, mem: mem, r: h5.Region{Start: start, Count: shape}, set: set}
			size := int64(mem.Size)
			for _, n := range shape {
				size *= n
			}
			c.plan = chunked.NewPlan(&set.grid, c.axes(int(size)), mem.Size)
			for off, n := range c.ranges(x) {
				if !yield(off, n) {
					return
				}
			}
		}
	}), true
}
