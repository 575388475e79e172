// Chunks in order. The offset of each chunk in the file depends on the chunk before it, so chunks
// that workers finish too early must wait.

package hdf5

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// sequence is the order of the chunks that are written to one dataset.
type sequence struct {
	b     *backend
	queue *ordered.Queue[uint32] // with filter masks
}

// InOrder makes chunks go to the file in row-major order. It returns nil for a dataset without
// chunks, because its elements have fixed offsets, unless they are strings. It returns
// errors.ErrUnsupported if only libhdf5 can write the dataset; the caller must then write in order.
func (b *backend) InOrder(ctx context.Context, window int64, dir string) (ordered.Sequence, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b.meta.ChunkShape == nil && b.stored.Plain() {
		return nil, nil
	}
	why := "asked for"
	if !b.library {
		var err error
		if why, err = chunkio.Fallback(b.dataset); err != nil {
			return nil, err
		}
	}
	if why != "" {
		return nil, fmt.Errorf("%w: chunks in order: %s", errors.ErrUnsupported, why)
	}
	s := &sequence{b: b}
	s.queue = ordered.New(int(window), dir, b.storeChunk)
	if !b.sequence.CompareAndSwap(nil, s) {
		return nil, fmt.Errorf("%w: chunks are put in order already", ndarray.ErrParam)
	}
	return s, nil
}

// Skip reports that chunk n will not be written.
func (s *sequence) Skip(n int64) error { return s.queue.Skip(n) }

// End ends the order.
func (s *sequence) End(keep bool) error {
	s.b.sequence.Store(nil)
	var err error
	if keep {
		err = s.queue.Flush()
	}
	return errors.Join(err, s.queue.Close())
}

// writeChunk stores a chunk without encoding it, immediately or in order.
func (b *backend) writeChunk(n int64, chunk []byte, mask uint32) error {
	if s := b.sequence.Load(); s != nil {
		return s.queue.Put(n, chunk, mask)
	}
	return b.storeChunk(n, chunk, mask)
}

// storeChunk stores a chunk without encoding it, immediately.
func (b *backend) storeChunk(n int64, chunk []byte, mask uint32) error {
	at, _ := b.offset(n)
	return chunkio.Store(b.dataset, chunk, mask, at...)
}

// number returns the number of the chunk that begins at an element.
func (b *backend) number(at []int64) int64 {
	n := int64(0)
	for i, c := range b.meta.ChunkShape {
		n = n*grid.DivUp(b.meta.Shape[i], c) + at[i]/c
	}
	return n
}

// writeInOrder passes the chunks of a region to the sequence.
func (s *sequence) writeInOrder(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	_, err := chunkio.Write(ctx, s.b.dataset, src, s.b.stored, region(r), &chunkio.Options{
		Workers: workers,
		Store:   func(chunk []byte, mask uint32, at []int64) error { return s.queue.Put(s.b.number(at), chunk, mask) },
	})
	return err
}
