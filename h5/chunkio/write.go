// Writing: workers apply the filters and store the chunks in the order of the grid. The file
// therefore does not depend on the number of workers.

package chunkio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// A writer is the state of one worker.
type writer struct {
	c *call
	q *chunked.Piece
	*work
	stats Stats
}

// encoded describes an encoded chunk.
type encoded struct {
	offset   []int64
	mask     uint32
	elements int64
}

func (c *call) write(ctx context.Context, src []byte) (Stats, error) {
	store := c.o.Store
	if store == nil {
		store = func(b []byte, mask uint32, offset []int64) error { return Store(c.d, b, mask, offset...) }
	}
	stats := Stats{Workers: c.o.Workers, Chunks: c.plan.Chunks}
	var mu sync.Mutex // protects stats
	queue := ordered.New(math.MaxInt, "", func(_ int64, b []byte, e encoded) error {
		if err := store(b, e.mask, e.offset); err != nil {
			return c.fail(e.offset, err)
		}
		mu.Lock()
		stats.Stored += int64(len(b))
		mu.Unlock()
		c.advance(e.elements * int64(c.mem.Size))
		return nil
	})
	take := func() (*writer, error) {
		return &writer{c: c, q: c.plan.NewPiece(), work: buffers.Get().(*work)}, nil
	}
	put := func(w *writer) error {
		mu.Lock()
		stats.add(&w.stats)
		mu.Unlock()
		w.put()
		return nil
	}
	// ahead is the maximum number of chunks that are encoded but not stored. It is limited by
	// memory and is at most two for each worker, so that no worker waits until its last chunk is
	// stored.
	ahead := min(int64(2*c.o.Workers), max(c.o.Memory/int64(c.set.chunkBytes+c.set.bound), 1))
	err := chunked.Each(ctx, c.plan.Chunks, c.o.Workers, ahead, take, put, func(_ context.Context, w *writer, k int64) error {
		c.plan.At(k, w.q)
		b, mask, err := w.encode(src)
		if err != nil {
			return c.fail(w.q.Offset, err)
		}
		return queue.Put(k, b, encoded{slices.Clone(w.q.Offset), mask, w.q.Elements})
	})
	return stats, errors.Join(err, queue.Close())
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

// encode encodes the chunk of the current piece, including the elements around the piece. The
// result is valid until the next call.
func (w *writer) encode(src []byte) (b []byte, mask uint32, err error) {
	c := w.c
	data, err := w.chunk(src)
	if err != nil || c.set.unfiltered(w.q) {
		return data, 0, err
	}
	w.encoded, mask, err = c.set.pipeline.Encode(w.encoded[:0], data)
	return w.encoded, mask, err
}

// chunk returns the whole chunk in the byte order of the file.
func (w *writer) chunk(src []byte) (chunk []byte, err error) {
	c, q := w.c, w.q
	src = src[q.InBuffer:]
	strides := c.plan.Strides
	box := boxes.New(q.Count, c.set.grid.Strides, strides, c.set.item)
	if q.Whole && box.Dense() && !c.swap.needed() {
		return src[:c.set.chunkBytes], nil
	}
	data := grown(&w.data, c.set.chunkBytes)
	stored := false
	if !q.Data {
		if c.o.Store != nil {
			return nil, fmt.Errorf("%w: part of a chunk that is not stored at once", errors.ErrUnsupported)
		}
		w.stats.Merged++
		raw, mask, err := readRaw(c.d, &w.raw, c.set, q.Offset)
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
	if !stored && !q.Whole {
		boxes.Repeat(data, c.set.info.Unwritten())
	}
	if !c.swap.needed() {
		c.plan.Spread(q, data, src)
		return data, nil
	}
	if !q.Whole {
		// The stored elements are in the byte order of the file already. Swap them too, so that the
		// whole chunk can be swapped back.
		c.swap.bytes(data)
	}
	c.plan.Spread(q, data, src)
	c.swap.bytes(data)
	return data, nil
}
