// What the library does instead.

package chunkio

import (
	"context"

	"github.com/hyperslab/hyperslab/h5"
)

// readByLibrary reads in slabs along the first axis, so that it can be stopped and
// the memory for conversions is bounded.
func (c *call) readByLibrary(ctx context.Context, dst []byte) error {
	read := c.d.ReadRegion
	if c.o.Lossy {
		read = c.d.ReadRegionLossy
	}
	rank := len(c.r.Start)
	if c.r.Stride != nil || c.r.Block != nil || rank == 0 || len(c.r.Count) != rank || c.r.Count[0] <= 1 || len(dst)%int(max(c.r.Count[0], 1)) != 0 {
		return c.whole(read, dst)
	}
	row := int64(len(dst)) / c.r.Count[0]
	rows := c.o.Memory / max(row, 1)
	if c.set != nil && len(c.set.info.Chunks) == rank {
		// Whole chunks: the library decodes a chunk for each slab that touches it.
		rows -= rows % c.set.info.Chunks[0]
		rows = max(rows, c.set.info.Chunks[0])
	}
	if rows = max(rows, 1); rows >= c.r.Count[0] {
		return c.whole(read, dst)
	}
	slab := h5.Region{Start: append([]int64(nil), c.r.Start...), Count: append([]int64(nil), c.r.Count...)}
	end := c.r.Start[0] + c.r.Count[0]
	c.progress.total = int64(len(dst))
	for at := c.r.Start[0]; at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(rows, end-at)
		if c.set != nil && len(c.set.info.Chunks) == rank && at%c.set.info.Chunks[0] != 0 {
			n = min(n, c.set.info.Chunks[0]-at%c.set.info.Chunks[0])
		}
		slab.Start[0], slab.Count[0] = at, n
		if err := read(dst[:n*row], c.mem, slab); err != nil {
			return err
		}
		dst = dst[n*row:]
		at += n
		c.advance(n * row)
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

// writeByLibrary writes in one call: a value that does not fit then changes
// nothing.
func (c *call) writeByLibrary(src []byte) error {
	if c.o.Lossy {
		return c.whole(c.d.WriteRegionLossy, src)
	}
	return c.whole(c.d.WriteRegion, src)
}
