// Resizing. C-Blosc2 leaves zeros in new elements, or in existing chunks the values of an earlier,
// larger shape. This file replaces them by the fill value.

package b2nd

import (
	"bytes"
	"context"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Resize changes the array's shape (b2nd_resize, or package caterva) and sets new elements to the
// fill value.
func (b *backend) Resize(ctx context.Context, shape []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	old := b.meta.Shape
	if b.stored == "" {
		shape, err := b.engine.resizeCaterva(shape)
		if err != nil {
			return err
		}
		b.meta.Shape = shape
		return b.fillOldChunks(ctx, old)
	}
	if b.engine.summed {
		if err := b.resizeSummed(ctx, shape); err != nil {
			return err
		}
		return b.fillOldChunks(ctx, old)
	}
	err := b.engine.idle(true, func(a *cblosc.Array) error {
		err := a.Resize(shape)
		b.meta.Shape = a.Shape()
		if err != nil {
			return err
		}
		return b.fillNewChunks(a, old)
	})
	if err != nil {
		return err
	}
	return b.fillOldChunks(ctx, old)
}

// fillNewChunks replaces every chunk outside the old shape by a run of the fill value.
func (b *backend) fillNewChunks(a *cblosc.Array, old []int64) error {
	if len(bytes.Trim(b.record.fill, "\x00")) == 0 {
		return nil
	}
	g, err := grid.New(b.meta.Shape, b.meta.ChunkShape)
	if err != nil {
		return err
	}
	isNew := map[int64]bool{}
	n := int64(-1)
	for r := range g.All() {
		n++
		for i, at := range r.Start {
			if at >= old[i] {
				isNew[n] = true
			}
		}
	}
	if len(isNew) == 0 {
		return nil
	}
	cp, err := a.SChunk().CParams()
	if err != nil {
		return err
	}
	cp.BlockSize = b.meta.DType.Size // in bytes: chunks of an array use the array's blocks
	for _, k := range b.meta.BlockShape {
		cp.BlockSize *= int(k)
	}
	run, err := runOf(a.SChunk(), cp, b.record.fill)
	if err != nil {
		return err
	}
	if err := b.engine.putAll(run, func(i int64) bool { return isNew[i] }); err != nil {
		return err
	}
	return b.engine.finishWriting()
}

// fillOldChunks writes the fill value to the new elements of chunks that were partly inside the old
// shape, if they have other values.
func (b *backend) fillOldChunks(ctx context.Context, old []int64) error {
	fill := b.meta.Fill
	if fill == nil {
		fill = make([]byte, b.meta.DType.Size)
	}
	border := func(i int) int64 { // the end of the last old chunk along axis i, inside the array
		c := max(b.meta.ChunkShape[i], 1) // 0 along a dimension of length 0
		return grid.RoundUp(old[i], c, b.meta.Shape[i])
	}
	for axis := range old {
		end := border(axis)
		if end <= old[axis] {
			continue
		}
		r := ndarray.Region{Start: make([]int64, len(old)), Shape: make([]int64, len(old))}
		for i := range old {
			r.Shape[i] = min(old[i], b.meta.Shape[i])
			if i < axis {
				r.Shape[i] = border(i)
			}
		}
		r.Start[axis], r.Shape[axis] = old[axis], end-old[axis]
		if r.NumElems() == 0 {
			continue
		}
		for box := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
			slab := ndarray.Region(box)
			got := make([]byte, slab.NumElems()*int64(b.meta.DType.Size))
			if err := b.ReadRegion(ctx, got, slab, 0); err != nil {
				return err
			}
			want := bytes.Repeat(fill, int(slab.NumElems()))
			if slices.Equal(got, want) {
				continue
			}
			if err := b.WriteRegion(ctx, want, slab, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
