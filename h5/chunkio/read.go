// Reading: each worker takes the next chunk and reverses its filters.

package chunkio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// A reader is the state of one worker.
type reader struct {
	c *call
	x *index // nil: libhdf5 is queried for each chunk
	q *chunked.Piece
	*work
	stats Stats
	done  int64 // chunks
}

func (c *call) read(ctx context.Context, dst []byte) (Stats, error) {
	var x *index
	var err error
	switch {
	case c.set.remote != nil:
		x, err = c.readRemote() // a request costs more than an index
	case c.set.worthIndexing(c.plan.Chunks, c.keep):
		x, err = c.set.readIndex(c.d)
	}
	if err != nil {
		return Stats{}, err
	}
	if c.set.remote != nil {
		defer c.set.remote.Prefetch(ctx, c.ranges(x))()
	}
	stats := Stats{Workers: c.o.Workers, Chunks: c.plan.Chunks}
	var mu sync.Mutex // protects stats
	take := func() (*reader, error) {
		return &reader{c: c, x: x, q: c.plan.NewPiece(), work: buffers.Get().(*work)}, nil
	}
	put := func(r *reader) error {
		mu.Lock()
		stats.add(&r.stats)
		mu.Unlock()
		r.count.Chunks.Add(r.done - r.stats.Missing)
		r.put()
		return nil
	}
	err = chunked.Each(ctx, c.plan.Chunks, c.o.Workers, chunked.AnyOrder, take, put, func(ctx context.Context, r *reader, k int64) error {
		c.plan.At(k, r.q)
		if err := r.within(ctx, dst); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return err
			}
			return c.fail(r.q.Offset, err)
		}
		c.advance(r.q.Elements * int64(c.mem.Size))
		return nil
	})
	return stats, err
}

// within reads the current piece when the process has enough memory for a chunk.
func (r *reader) within(ctx context.Context, dst []byte) error {
	if r.copied(dst) {
		r.done++
		return nil
	}
	grant, err := budget.Acquire(ctx, r.c.need)
	if err != nil {
		return err
	}
	defer grant.Release()
	defer r.free()
	err = r.read(dst)
	if err == nil {
		r.done++
	}
	return err
}

// work contains the buffers of a worker. They are reused by later calls, because allocating new
// memory costs as much as reading a chunk.
type work struct {
	count *meter.Shard

	raw     []byte // a stored chunk
	data    []byte // a decoded chunk, or a piece of one
	encoded []byte // a chunk to store
}

// free makes large buffers available to all readers of the process.
func (w *work) free() {
	for _, b := range []*[]byte{&w.raw, &w.data, &w.encoded} {
		if cap(*b) > budget.Small {
			budget.Put(*b)
			*b = nil
		}
	}
}

// put returns w to buffers.
func (w *work) put() {
	w.free()
	buffers.Put(w)
}

// buffers contains idle buffers until the garbage collector frees them. They have at most
// budget.Small bytes.
var buffers = sync.Pool{New: func() any { return &work{count: meter.Next()} }}

// fillValue returns an element of a chunk that is not stored, in the caller's datatype.
func (c *call) fillValue() []byte {
	value := c.set.info.Unwritten()
	c.swap.bytes(value)
	return value
}

func (r *reader) read(dst []byte) (err error) {
	c, q := r.c, r.q
	if e, ok := r.inFile(); ok && e.stored && e.mask == 0 && c.set.pipeline.Partial() && !c.set.unfiltered(q) && r.some() {
		return r.partOfFile(dst[q.InBuffer:], e)
	}
	if e, ok := r.inFile(); ok && r.plain(e) && r.some() {
		return r.rowsOfFile(dst[q.InBuffer:], e)
	}
	raw, mask, err := r.stored()
	if err != nil {
		return err
	}
	if raw == nil {
		r.stats.Missing++
		b := boxes.New(q.Count, c.plan.Strides, c.plan.Strides, c.mem.Size)
		b.Fill(dst[q.InBuffer:], c.fill)
		return nil
	}
	r.stats.Stored += int64(len(raw))
	if c.set.unfiltered(q) {
		mask = ^uint32(0)
	}
	dst = dst[q.InBuffer:]
	box := c.plan.Box(q)
	if q.Whole && box.Dense() {
		dst = dst[:c.set.chunkBytes]
		if err := c.set.pipeline.Decode(dst, raw, mask); err != nil {
			return r.cut(raw, mask, err)
		}
		c.swap.bytes(dst)
		return nil
	}
	// If no byte swap is needed, the blocks of a Blosc2 chunk are decoded directly
	// into dst, all of them or some.
	if some := r.some(); mask == 0 && c.set.pipeline.Partial() && (some || !q.Strided && !c.swap.needed()) {
		if some {
			r.stats.Partial++
		}
		return r.part(dst, func(to []byte, p filter.Part) error { return c.set.pipeline.DecodePart(to, raw, p) })
	}
	data := []byte(nil)
	if k := r.keep(); k != nil {
		defer kept.release(k)
		defer func() { kept.decoded(k, err) }()
		data = k.data
	} else {
		data = grown(&r.data, c.set.chunkBytes)
	}
	if err = c.set.pipeline.Decode(data, raw, mask); err != nil {
		return r.cut(raw, mask, err)
	}
	c.swap.bytes(data)
	c.plan.Gather(q, dst, data)
	return nil
}

// copied copies the piece from a kept chunk. It returns false if the chunk is not kept.
func (r *reader) copied(dst []byte) bool {
	if !r.c.keep {
		return false
	}
	k := kept.find(r.c.set, r.q.Number)
	if k == nil {
		return false
	}
	defer kept.release(k)
	r.c.plan.Gather(r.q, dst[r.q.InBuffer:], k.data)
	return true
}

// keep returns the entry of the cache into which the current chunk must be decoded, or nil.
func (r *reader) keep() *keptChunk {
	if !r.c.keep {
		return nil
	}
	return kept.add(r.c.set, r.q.Number)
}

// cut explains the error of decoding a chunk at the edge of the dataset that is stored without its
// elements beyond the edge, as some writers do. The result matches err.
func (r *reader) cut(raw []byte, mask uint32, err error) error {
	set := r.c.set
	n := int64(set.item)
	for i, x := range r.q.Offset {
		n *= max(min(set.grid.Chunk[i], set.info.Space.Dims[i]-x), 0)
	}
	if n >= int64(set.chunkBytes) || set.pipeline.Decode(make([]byte, n), raw, mask) != nil {
		return err
	}
	return errs.CutChunk(err, n)
}

// some reports whether the bounding box of the piece is so small that only the blocks it needs
// should be decoded.
func (r *reader) some() bool { return 4*r.span() <= 3*int64(r.c.set.chunkBytes) }

// span returns the size in bytes of the bounding box of the piece.
func (r *reader) span() int64 {
	n := int64(r.c.set.item)
	for _, s := range r.q.Span {
		n *= s
	}
	return n
}

// inFile returns the location of the chunk in the file, if there is an index.
func (r *reader) inFile() (entry, bool) {
	if r.x == nil {
		return entry{}, false
	}
	return r.x.at(r.q.Number), true
}

// partOfFile reads and decodes the blocks that the piece needs.
func (r *reader) partOfFile(dst []byte, e entry) error {
	set := r.c.set
	if err := set.holds(e); err != nil {
		return err
	}
	r.stats.Partial++
	r.stats.Direct++
	file := io.NewSectionReader(set.file, format.Size(e.address), format.Size(e.bytes))
	return r.part(dst, func(to []byte, p filter.Part) error {
		n, err := set.pipeline.DecodePartAt(to, file, format.Size(e.bytes), p)
		r.stats.Stored += n
		return closed(err)
	})
}

// plain reports whether the current chunk consists of its elements.
func (r *reader) plain(e entry) bool {
	set := r.c.set
	return e.stored && e.bytes == uint64(set.chunkBytes) && (set.pipeline.Len() == 0 || set.unfiltered(r.q))
}

// rowGap is the maximum number of bytes between two rows that one read also reads.
const rowGap = 64 << 10

// rows yields the parts of a plain chunk, as offset and length in bytes, that contain the bounding
// box of the piece.
func (r *reader) rows(yield func(off, n int64) bool) {
	g, q := &r.c.set.grid, r.q
	n, axis := int64(g.Item), len(q.Span)-1
	for ; axis >= 0 && (q.Span[axis] == 1 || g.Strides[axis]-n <= rowGap); axis-- {
		n += (q.Span[axis] - 1) * g.Strides[axis]
	}
	at := make([]int64, axis+1) // in the span of each outer axis
	for off := q.InChunk; ; {
		if !yield(off, n) {
			return
		}
		d := axis
		for ; d >= 0; d-- {
			if at[d]++; at[d] < q.Span[d] {
				off += g.Strides[d]
				break
			}
			off -= (at[d] - 1) * g.Strides[d]
			at[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// rowsOfFile reads the part of a plain chunk that the piece needs.
func (r *reader) rowsOfFile(dst []byte, e entry) error {
	c := r.c
	if err := c.set.holds(e); err != nil {
		return err
	}
	data := grown(&r.data, c.set.chunkBytes)
	for off, n := range r.rows {
		row := data[off : off+n]
		if _, err := c.set.file.ReadAt(row, format.Size(e.address)+off); err != nil {
			return closed(err)
		}
		r.stats.Stored += n
		c.swap.bytes(row)
	}
	r.stats.Direct++
	r.stats.Partial++
	c.plan.Collect(r.q, dst, c.plan.Strides, data[r.q.InChunk:], c.set.grid.Strides)
	return nil
}

// part copies the elements decoded by decode into dst, in the caller's byte order.
func (r *reader) part(dst []byte, decode func(to []byte, p filter.Part) error) error {
	c, q := r.c, r.q
	part := filter.Part{Shape: c.set.info.ChunkShape, Start: q.Start, Count: q.Span, Strides: c.plan.Strides, Item: c.set.item}
	if !q.Strided && !c.swap.needed() {
		return decode(dst, part)
	}
	part.Strides = boxes.Strides(q.Span, c.set.item)
	data := grown(&r.data, int(r.span()))
	if err := decode(data, part); err != nil {
		return err
	}
	c.swap.bytes(data)
	c.plan.Collect(q, dst, c.plan.Strides, data, part.Strides)
	return nil
}

// holds returns an error if a chunk of the index has an impossible size or is not inside the file.
// The size fits an int if the error is nil.
func (s *dataset) holds(e entry) error {
	if e.bytes == 0 || e.bytes > math.MaxUint32 {
		return fmt.Errorf("%w: index entry of the chunk: stored size: got %d bytes, want 1 to %d", h5.ErrCorrupt, e.bytes, uint32(math.MaxUint32))
	}
	if e.address > uint64(s.size) || e.bytes > uint64(s.size)-e.address {
		return fmt.Errorf("%w: index entry of the chunk: got %d bytes at offset %d, want a place in the file of %d bytes", h5.ErrCorrupt, e.bytes, e.address, s.size)
	}
	return nil
}

// closed adds h5.ErrClosed to the error of a file that was closed during the call.
func closed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("%w: %w", h5.ErrClosed, err)
	}
	return err
}

// stored returns the stored chunk, nil if it is not stored.
func (r *reader) stored() (raw []byte, mask uint32, err error) {
	e, ok := r.inFile()
	if !ok {
		return readRaw(r.c.d, &r.raw, r.c.set, r.q.Offset)
	}
	if !e.stored {
		return nil, 0, nil
	}
	set := r.c.set
	if err := set.holds(e); err != nil {
		return nil, 0, err
	}
	raw = grown(&r.raw, int(format.Size(e.bytes)))
	if _, err := set.file.ReadAt(raw, format.Size(e.address)); err != nil {
		return nil, 0, closed(err)
	}
	r.stats.Direct++
	return raw, e.mask, nil
}

// readRaw reads a chunk through libhdf5, nil if it is not stored. The first buffer has the maximum
// size of an encoded chunk.
func readRaw(d *h5.Dataset, buf *[]byte, set *dataset, offset []int64) ([]byte, uint32, error) {
	for {
		raw := grown(buf, max(set.bound, cap(*buf)))
		n, mask, err := d.ReadChunk(raw, offset...)
		switch {
		case err == nil:
			return raw[:n], mask, nil
		case errors.Is(err, h5.ErrNotFound):
			return nil, 0, nil
		case !errors.Is(err, h5.ErrSize):
			return nil, 0, err
		}
		// The chunk is longer than any output of this package's encoders. If it fits into the file,
		// read it and let the codec report an error.
		size, err := d.ChunkBytes(offset...)
		if err != nil {
			return nil, 0, err
		}
		limit, err := d.File().Size()
		if err != nil {
			return nil, 0, err
		}
		if size > limit {
			return nil, 0, fmt.Errorf("%w: a chunk of %d bytes in a file of %d", h5.ErrCorrupt, size, limit)
		}
		if size > int64(cap(*buf)) {
			*buf = budget.Get(int(size))
		}
	}
}

// grown returns n bytes of *buf, which grows to hold them.
func grown(buf *[]byte, n int) []byte {
	*buf = budget.Grown(*buf, n)
	return *buf
}
