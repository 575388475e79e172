// Writing: workers apply the filters, and one goroutine stores the chunks in their order, so that
// the file does not depend on the number of workers.

package chunkio

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/boxes"
)

// A writer is the state of one worker.
type writer struct {
	c *call
	q *piece
	*work
	stats Stats
}

// An encoded chunk waits until the chunks before it are stored.
type encoded struct {
	offset   []int64
	b        []byte
	mask     uint32
	elements int64
}

func (c *call) write(ctx context.Context, src []byte) (stats Stats, err error) {
	workers := c.o.Workers
	store := c.o.Store
	if store == nil {
		store = func(b []byte, mask uint32, offset []int64) error { return Store(c.d, b, mask, offset...) }
	}
	// ahead is the maximum number of chunks that are encoded but not stored. It is limited by
	// memory and is at most two for each worker, so that no worker waits until its last chunk is
	// stored.
	ahead := int(min(int64(2*workers), max(c.o.Memory/int64(c.set.chunkBytes+c.set.bound), 1), c.plan.chunks))
	done := make([]chan encoded, ahead)
	for i := range done {
		done[i] = make(chan encoded, 1)
	}
	places := make(chan []byte, ahead) // free buffers for encoded chunks
	for range ahead {
		places <- nil
	}
	stats = Stats{Workers: workers, Chunks: c.plan.chunks}
	writers := make([]*writer, workers)
	g, inner := errgroup.WithContext(ctx)
	// Numbers are distributed in order, and a buffer is reserved for each number first. Therefore
	// the chunks in progress are neighbours, and each has a separate channel in done.
	type ticket struct {
		k     int64
		place []byte
	}
	tickets := make(chan ticket)
	g.Go(func() error {
		defer close(tickets)
		for k := range c.plan.chunks {
			select {
			case place := <-places:
				select {
				case tickets <- ticket{k, place}:
				case <-inner.Done():
					return inner.Err()
				}
			case <-inner.Done():
				return inner.Err()
			}
		}
		return nil
	})
	for i := range writers {
		w := &writer{c: c, q: c.plan.newPiece(), work: buffers.Get().(*work)}
		writers[i] = w
		g.Go(func() error {
			for t := range tickets {
				c.plan.at(t.k, w.q)
				e, err := w.encode(t.place, src)
				if err != nil {
					return c.fail(w.q.offset, err)
				}
				done[t.k%int64(ahead)] <- e
			}
			return nil
		})
	}
	g.Go(func() error {
		for k := range c.plan.chunks {
			select {
			case e := <-done[k%int64(ahead)]:
				if err := store(e.b, e.mask, e.offset); err != nil {
					return c.fail(e.offset, err)
				}
				stats.Stored += int64(len(e.b))
				c.advance(e.elements * int64(c.mem.Size))
				places <- e.b[:0]
			case <-inner.Done():
				return inner.Err()
			}
		}
		return nil
	})
	err = g.Wait()
	for _, w := range writers {
		stats.add(&w.stats)
		w.put()
	}
	return stats, err
}

// Store stores an encoded chunk (h5.Dataset.WriteChunk). If a chunk of the same length with another
// filter mask is stored at offset, Store first replaces it by one that is a byte longer, because
// libhdf5 updates the mask only if the length changes. A program that ends between the two writes
// leaves a chunk that does not decode, as it may after any incomplete write.
func Store(d *h5.Dataset, chunk []byte, mask uint32, offset ...int64) error {
	err := d.WriteChunk(chunk, mask, offset...)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if longer := d.WriteChunk(append(slices.Clone(chunk), 0), mask, offset...); longer != nil {
		return errors.Join(err, longer)
	}
	return d.WriteChunk(chunk, mask, offset...)
}

// encode encodes the chunk of the current piece, including the elements around the piece.
func (w *writer) encode(place, src []byte) (encoded, error) {
	c, q := w.c, w.q
	data, err := w.chunk(src)
	if err != nil {
		return encoded{}, err
	}
	e := encoded{offset: append([]int64(nil), q.offset...), elements: q.elements}
	if c.set.unfiltered(q) {
		e.b = append(place[:0], data...)
		return e, nil
	}
	e.b, e.mask, err = c.set.pipeline.Encode(place, data)
	return e, err
}

// chunk returns the whole chunk in the byte order of the file.
func (w *writer) chunk(src []byte) (chunk []byte, err error) {
	c, q := w.c, w.q
	src = src[q.inBuffer:]
	strides := c.plan.strides
	box := boxes.New(q.count, c.set.strides, strides, c.set.item)
	if q.chunk && box.Dense() && !c.swap.needed() {
		return src[:c.set.chunkBytes], nil
	}
	data := grown(&w.data, c.set.chunkBytes)
	stored := false
	if !q.data {
		if c.o.Store != nil {
			return nil, fmt.Errorf("%w: part of a chunk that is not stored at once", errors.ErrUnsupported)
		}
		w.stats.Merged++
		raw, mask, err := readRaw(c.d, &w.raw, c.set, q.offset)
		if err != nil {
			return nil, err
		}
		if raw != nil {
			if c.set.unfiltered(q) {
				mask = ^uint32(0)
			}
			if err := c.set.pipeline.Decode(data, raw, mask); err != nil {
				return nil, err
			}
			stored = true
		} else {
			w.stats.Missing++
		}
	}
	if !stored && !q.chunk {
		clear(data)
		if len(c.set.info.Fill) > 0 {
			boxes.Repeat(data, c.set.info.Fill)
		}
	}
	if !c.swap.needed() {
		c.plan.spread(q, data, src, strides)
		return data, nil
	}
	if !q.chunk {
		// The stored elements are in the byte order of the file already. Swap them too, so that the
		// whole chunk can be swapped back.
		c.swap.bytes(data)
	}
	c.plan.spread(q, data, src, strides)
	c.swap.bytes(data)
	return data, nil
}
