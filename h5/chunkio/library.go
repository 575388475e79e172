// Reads and writes through libhdf5.

package chunkio

import (
	"context"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// readByLibrary reads in slabs, so that the read can be cancelled.
func (c *call) readByLibrary(ctx context.Context, dst []byte) error {
	return c.slabs(ctx, c.d.ReadRegion, dst)
}

// slabs processes the region in slabs along the first axis, so that it can be cancelled and the
// memory for conversions is limited.
func (c *call) slabs(ctx context.Context, move func([]byte, h5.Datatype, h5.Region) error, b []byte) error {
	rank := len(c.r.Start)
	if rank == 0 || len(c.r.Count) != rank || c.r.Count[0] <= 1 || len(b)%int(c.r.Count[0]) != 0 ||
		c.r.Stride != nil && len(c.r.Stride) != rank || c.r.Block != nil && len(c.r.Block) != rank {
		return c.whole(move, b)
	}
	row := int64(len(b)) / c.r.Count[0] // size of one step along the axis
	rows, stride := c.o.Memory/max(row, 1), int64(1)
	if c.r.Stride != nil {
		stride = max(c.r.Stride[0], 1)
	}
	inChunk := int64(1) // maximum number of steps in one chunk
	if c.set != nil && len(c.set.info.ChunkShape) == rank {
		// Use whole chunks, because libhdf5 decodes a chunk for each slab that touches it.
		inChunk = max(c.set.info.ChunkShape[0]/stride, 1)
	}
	slab := h5.Region{Start: slices.Clone(c.r.Start), Count: slices.Clone(c.r.Count), Stride: c.r.Stride, Block: c.r.Block}
	c.progress.total = int64(len(b))
	steps := grid.Box{Start: []int64{c.r.Start[0] / stride}, Shape: []int64{c.r.Count[0]}}
	for part := range grid.Cut(steps, []int64{inChunk}, rows) {
		if err := ctx.Err(); err != nil {
			return err
		}
		slab.Start[0], slab.Count[0] = part.Start[0]*stride+c.r.Start[0]%stride, part.Shape[0]
		n := part.Shape[0] * row
		if err := move(b[:n], c.mem, slab); err != nil {
			return err
		}
		b = b[n:]
		c.advance(n)
	}
	return nil
}

func (c *call) whole(move func([]byte, h5.Datatype, h5.Region) error, b []byte) error {
	if err := move(b, c.mem, c.r); err != nil {
		return err
	}
	c.progress.total = int64(len(b))
	c.advance(int64(len(b)))
	return nil
}

// writeByLibrary writes in slabs. libhdf5 reports an invalid call before it writes.
func (c *call) writeByLibrary(ctx context.Context, src []byte) (err error) {
	if c.set == nil {
		if c.set, err = lookUp(c.d, c.o.Exact); err != nil {
			return err
		}
	}
	if c.axes(len(src)) == nil {
		return c.whole(c.d.WriteRegion, src)
	}
	return c.slabs(ctx, c.d.WriteRegion, src)
}
