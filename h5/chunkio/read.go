// Reading: workers take chunks, one after the other, and undo their filters.

package chunkio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/boxes"
)

// A reader is what one worker keeps.
type reader struct {
	c *call
	x *index // nil: the library is asked for each chunk
	q *piece
	*scratch
	stats Stats
}

func (c *call) read(ctx context.Context, dst []byte) (Stats, error) {
	var x *index
	if c.set.worthIndexing(c.plan.chunks) {
		var err error
		if x, err = c.set.readIndex(c.d); err != nil {
			return Stats{}, err
		}
	}
	stats := Stats{Workers: c.o.Workers, Chunks: c.plan.chunks}
	readers := make([]*reader, c.o.Workers)
	for i := range readers {
		readers[i] = &reader{c: c, x: x, q: c.plan.newPiece(), scratch: buffers.Get().(*scratch)}
	}
	err := share(ctx, c.plan.chunks, readers, func(r *reader, k int64) error {
		c.plan.at(k, r.q)
		if err := r.read(dst); err != nil {
			return c.fail(r.q.offset, err)
		}
		c.advance(r.q.elements * int64(c.mem.Size))
		return nil
	})
	for _, r := range readers {
		stats.add(&r.stats)
		buffers.Put(r.scratch)
	}
	return stats, err
}

// scratch is the buffers of a worker, which outlive its call: new memory costs as
// much as the reading of a chunk.
type scratch struct {
	raw     []byte // a chunk as it is stored
	data    []byte // a chunk, or a piece of one
	piece   []byte // elements of one type on their way to another
	numbers []byte // of the other
}

// buffers keeps idle ones until the garbage collector wants them.
var buffers = sync.Pool{New: func() any { return new(scratch) }}

// share gives the numbers below n to the workers, each the next one when it is
// done with the one before.
func share[W any](ctx context.Context, n int64, workers []W, f func(w W, k int64) error) error {
	var next atomic.Int64
	run := func(ctx context.Context, w W) error {
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			k := next.Add(1) - 1
			if k >= n {
				return nil
			}
			if err := f(w, k); err != nil {
				return err
			}
		}
	}
	if len(workers) == 1 {
		return run(ctx, workers[0])
	}
	// The caller is one of them: with few chunks it is done before another goroutine has begun.
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var first error
	var failed sync.Once
	work := func(w W) {
		if err := run(inner, w); err != nil {
			failed.Do(func() { first = err; cancel() })
		}
	}
	var others sync.WaitGroup
	for _, w := range workers[1:] {
		others.Go(func() { work(w) })
	}
	work(workers[0])
	others.Wait()
	return first
}

// fillValue is what the library puts where no chunk is stored, nil if it is nothing.
func (c *call) fillValue() (value []byte, lost bool) {
	info := &c.set.info
	if info.FillTime == h5.FillNever || (info.FillTime == h5.FillIfSet && info.FillKind == h5.FillUndefined) {
		return nil, false
	}
	value = make([]byte, c.set.item)
	copy(value, info.Fill)
	if c.conv == nil {
		c.swap.bytes(value)
		return value, false
	}
	converted := make([]byte, c.mem.Size)
	lost = c.conv.convert(converted, value) != nil
	return converted, lost
}

func (r *reader) read(dst []byte) error {
	c, q := r.c, r.q
	if e, ok := r.inFile(); ok && e.bytes != 0 && e.mask == 0 && c.set.pipeline.Partial() && !c.set.unfiltered(q) && r.some() {
		return r.partOfFile(dst[q.inBuffer:], e)
	}
	raw, mask, err := r.stored()
	if err != nil {
		return err
	}
	if raw == nil {
		r.stats.Missing++
		if c.lost {
			return errChanged
		}
		if c.fill != nil {
			b := boxes.New(q.count, c.plan.strides, c.plan.strides, c.mem.Size)
			b.Fill(dst[q.inBuffer:], c.fill)
		}
		return nil
	}
	r.stats.Stored += int64(len(raw))
	if c.set.unfiltered(q) {
		mask = ^uint32(0)
	}
	dst = dst[q.inBuffer:]
	box := c.plan.toBuffer(q)
	if q.chunk && box.Dense() && c.conv == nil {
		dst = dst[:c.set.chunkBytes]
		if err := c.set.pipeline.Decode(dst, raw, mask); err != nil {
			return err
		}
		c.swap.bytes(dst)
		return nil
	}
	// With the bytes in order already the blocks of a Blosc2 chunk go where they
	// belong, all of them or some.
	if some := r.some(); mask == 0 && c.set.pipeline.Partial() && (some || !q.steps && !c.swap.needed() && c.conv == nil) {
		if some {
			r.stats.Partial++
		}
		return r.part(dst, func(to []byte, p filter.Part) error { return c.set.pipeline.DecodePart(to, raw, p) })
	}
	data := grown(&r.data, c.set.chunkBytes)
	if err := c.set.pipeline.Decode(data, raw, mask); err != nil {
		return err
	}
	if c.conv != nil {
		if q.chunk {
			return r.converted(dst, data)
		}
		piece := grown(&r.piece, int(q.elements)*c.set.item)
		c.plan.collect(q, piece, boxes.Strides(q.count, c.set.item), data[q.inChunk:], c.set.strides)
		return r.converted(dst, piece)
	}
	c.swap.bytes(data)
	c.plan.collect(q, dst, c.plan.strides, data[q.inChunk:], c.set.strides)
	return nil
}

// converted puts the elements of the piece, which lie one after the other in piece and
// are gone from there then, into dst.
func (r *reader) converted(dst, piece []byte) error {
	c, q := r.c, r.q
	strides := boxes.Strides(q.count, c.mem.Size)
	box := boxes.New(q.count, c.plan.strides, strides, c.mem.Size)
	n := int(q.elements) * c.mem.Size
	if box.Dense() {
		return c.conv.convert(dst[:n], piece)
	}
	out := grown(&r.numbers, n)
	if err := c.conv.convert(out, piece); err != nil {
		return err
	}
	box.Copy(dst, out)
	return nil
}

// some reports a piece that is so little of its chunk, with what is between its steps,
// that only the blocks it needs are worth decoding.
func (r *reader) some() bool { return 4*r.span() <= 3*int64(r.c.set.chunkBytes) }

// span is the bytes of the box around the piece.
func (r *reader) span() int64 {
	n := int64(r.c.set.item)
	for _, s := range r.q.span {
		n *= s
	}
	return n
}

// inFile says where the chunk is in the file, if that may be read.
func (r *reader) inFile() (entry, bool) {
	if r.x == nil {
		return entry{}, false
	}
	return r.x.at(r.q.number), true
}

// partOfFile reads and decodes the blocks that the piece needs.
func (r *reader) partOfFile(dst []byte, e entry) error {
	set := r.c.set
	if err := set.holds(e); err != nil {
		return err
	}
	r.stats.Partial++
	r.stats.Direct++
	file := io.NewSectionReader(set.file, int64(e.address), int64(e.bytes))
	return r.part(dst, func(to []byte, p filter.Part) error {
		n, err := set.pipeline.DecodePartAt(to, file, int64(e.bytes), p)
		r.stats.Stored += n
		return closed(err)
	})
}

// part puts the elements that decode gives for the piece into dst, in the caller's
// order of bytes.
func (r *reader) part(dst []byte, decode func(to []byte, p filter.Part) error) error {
	c, q := r.c, r.q
	part := filter.Part{Shape: c.set.info.Chunks, Start: q.start, Count: q.span, Strides: c.plan.strides, Item: c.set.item}
	if !q.steps && !c.swap.needed() && c.conv == nil {
		return decode(dst, part)
	}
	part.Strides = boxes.Strides(q.span, c.set.item)
	data := grown(&r.data, int(r.span()))
	if err := decode(data, part); err != nil {
		return err
	}
	if c.conv != nil {
		if q.steps {
			piece := grown(&r.piece, int(q.elements)*c.set.item)
			c.plan.collect(q, piece, boxes.Strides(q.count, c.set.item), data, part.Strides)
			data = piece
		}
		return r.converted(dst, data)
	}
	c.swap.bytes(data)
	c.plan.collect(q, dst, c.plan.strides, data, part.Strides)
	return nil
}

// holds checks that the file has room for a chunk of its index.
func (s *dataset) holds(e entry) error {
	if e.address > uint64(s.size) || uint64(e.bytes) > uint64(s.size)-e.address {
		return fmt.Errorf("%w: %d bytes at %d of a file of %d", h5.ErrCorrupt, e.bytes, e.address, s.size)
	}
	return nil
}

// closed says of a file that was closed in the meantime what package h5 says.
func closed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("%w: %w", h5.ErrClosed, err)
	}
	return err
}

// stored gets the chunk as it is stored, nil if it is not.
func (r *reader) stored() (raw []byte, mask uint32, err error) {
	e, ok := r.inFile()
	if !ok {
		return readRaw(r.c.d, &r.raw, r.c.set, r.q.offset)
	}
	if e.bytes == 0 {
		return nil, 0, nil
	}
	set := r.c.set
	if err := set.holds(e); err != nil {
		return nil, 0, err
	}
	raw = grown(&r.raw, int(e.bytes))
	if _, err := set.file.ReadAt(raw, int64(e.address)); err != nil {
		return nil, 0, closed(err)
	}
	r.stats.Direct++
	return raw, e.mask, nil
}

// readRaw has the library read a chunk, nil if it is not stored. The first guess
// at its length is what the filters make of a chunk at most.
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
		// It is longer than it can be here; as long as the file has room for it, the
		// codec is the one to say so.
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
			*buf = make([]byte, size)
		}
	}
}

// grown returns n bytes of *buf, which grows to hold them.
func grown(buf *[]byte, n int) []byte {
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	return (*buf)[:n]
}
