// Copies in two stages, for two arrays whose grids differ so much that each source chunk would be
// decoded many times within the allowed memory. The elements go through a temporary file, in chunks
// that both sides can access in a small number of pieces.

package ndarray

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// tooOften is the average number of times each source chunk may be decoded before Copy uses two
// stages. Two stages write and read each element once more.
const tooOften = 3

// readPlan divides an array into units that are read once.
func readPlan(src Meta, o *CopyOptions) (plan, error) {
	return newPlan(src, src, o.Workers, o.Memory, 1)
}

// copyTwice copies through a temporary file, which is filled in the units of read.
func copyTwice(ctx context.Context, dst, src *Array, read plan, in *order, o *CopyOptions) (_ CopyStats, err error) {
	// The temporary array has no chunks that the units would have to respect.
	loose := func(m Meta) Meta { m.ChunkShape = nil; return m }
	write, err := newPlan(*dst.m(), loose(*src.m()), o.Workers, o.Memory, 1)
	if err != nil {
		return CopyStats{}, err
	}
	if err := in.shape(&write); err != nil {
		return CopyStats{}, err
	}
	read.divide(in.allowed)
	chunk := make([]int64, len(read.units.Chunk))
	for i := range chunk {
		chunk[i] = min(read.units.Chunk[i], write.units.Chunk[i])
	}
	t, err := newScratch(*src.m(), chunk, o.TempDir)
	if err != nil {
		return CopyStats{}, err
	}
	tmp, err := New(t)
	if err != nil {
		return CopyStats{}, errors.Join(err, t.Close())
	}
	defer func() { err = errors.Join(err, tmp.Close()) }()

	var done Progress // the work of the first stage
	progress := o.Progress
	if progress != nil {
		progress = func(p Progress) {
			p.DoneBytes += done.DoneBytes
			p.DoneUnits += done.DoneUnits
			p.TotalBytes, p.TotalUnits = 2*read.total, read.count+write.count
			o.Progress(p)
		}
	}
	first, err := copyUnits(ctx, tmp, src, read, progress)
	if err != nil {
		return CopyStats{}, err
	}
	done = Progress{DoneBytes: read.total, DoneUnits: read.count}
	second, err := copyUnits(ctx, dst, tmp, write, progress)
	second.Stages = 2
	second.Workers, second.PeakBuffer = max(first.Workers, second.Workers), max(first.PeakBuffer, second.PeakBuffer)
	return second, err
}

// scratch is an array in a temporary file without a name. Its chunks follow each other, each in
// row-major order, all of the same size. Chunks that were never written, and chunks of zeros, are
// holes if the file system supports them.
type scratch struct {
	meta Meta
	grid grid.Grid
	size int64 // bytes of a chunk
	file *os.File

	written atomic.Int64 // bytes
}

func newScratch(like Meta, chunk []int64, dir string) (*scratch, error) {
	m := Meta{Format: "scratch", Path: "", Shape: like.Shape, DType: like.DType}
	g, err := grid.New(m.Shape, chunk)
	if err != nil {
		return nil, err
	}
	n, ok := grid.Product(append([]int64{int64(m.DType.Size), g.NumChunks()}, chunk...))
	if !ok {
		return nil, fmt.Errorf("%w: a temporary file for %v elements in chunks of %v", ErrShape, m.Shape, chunk)
	}
	f, err := regularfile.Temp(dir)
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	if err := f.Truncate(n); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	size, _ := grid.Product(append([]int64{int64(m.DType.Size)}, chunk...))
	return &scratch{meta: m, grid: g, size: size, file: f}, nil
}

func (s *scratch) Meta() Meta { return s.meta }

func (s *scratch) Close() error { return s.file.Close() }

func (s *scratch) ReadRegion(ctx context.Context, dst []byte, r Region, workers int) error {
	return s.each(ctx, dst, r, func(b []byte, at int64) error {
		_, err := s.file.ReadAt(b, at)
		return err
	}, false)
}

func (s *scratch) WriteRegion(ctx context.Context, src []byte, r Region, workers int) error {
	return s.each(ctx, src, r, func(b []byte, at int64) error {
		if allZero(b) {
			return nil // each element is written once, and the hole already reads as zeros
		}
		s.written.Add(int64(len(b)))
		_, err := s.file.WriteAt(b, at)
		return err
	}, true)
}

// each moves the common elements of r and each chunk, through a buffer for each piece that is
// contiguous in the chunk.
func (s *scratch) each(ctx context.Context, all []byte, r Region, move func(b []byte, at int64) error, write bool) error {
	item := s.meta.DType.Size
	first, n := make([]int64, len(r.Start)), make([]int64, len(r.Start))
	for i, c := range s.grid.Chunk {
		first[i] = r.Start[i] / c
		n[i] = (r.Start[i]+r.Shape[i]-1)/c - first[i] + 1
	}
	total, _ := grid.Product(n)
	outside := boxes.Strides(r.Shape, item) // in the caller's buffer
	var buf []byte
	for k := range total {
		if err := ctx.Err(); err != nil {
			return err
		}
		number, index := int64(0), make([]int64, len(n))
		for i, rest := len(n)-1, k; i >= 0; i-- {
			index[i] = first[i] + rest%n[i]
			rest /= n[i]
		}
		for i, x := range index {
			number = number*s.grid.Counts[i] + x
		}
		part, _ := s.grid.At(index).Intersect(grid.Box(r)) // not empty, because only chunks that r touches are visited
		inAll := Region{Start: make([]int64, len(n)), Shape: part.Shape}
		inChunk := Region{Start: make([]int64, len(n)), Shape: part.Shape}
		for i := range n {
			inAll.Start[i] = part.Start[i] - r.Start[i]
			inChunk.Start[i] = part.Start[i] - index[i]*s.grid.Chunk[i]
		}
		for box := range grid.Cut(grid.Box(inChunk), nil, runLength(part.Shape, s.grid.Chunk)) {
			piece := Region(box)
			bytes := piece.NumElems() * int64(item)
			if int64(cap(buf)) < bytes {
				buf = make([]byte, bytes)
			}
			b := buf[:bytes]
			from, at := int64(0), int64(0)
			for i := range n {
				from += (inAll.Start[i] + piece.Start[i] - inChunk.Start[i]) * outside[i]
				at = at*s.grid.Chunk[i] + piece.Start[i]
			}
			inside := boxes.Strides(piece.Shape, item)
			if write {
				box := boxes.New(piece.Shape, inside, outside, item)
				box.Copy(b, all[from:])
			}
			if err := move(b, number*s.size+at*int64(item)); err != nil {
				return err
			}
			if !write {
				box := boxes.New(piece.Shape, outside, inside, item)
				box.Copy(all[from:], b)
			}
		}
	}
	return nil
}

// runLength returns the number of elements that a box in a chunk has in a row without a gap.
func runLength(box, chunk []int64) int64 {
	n := int64(1)
	for axis := len(chunk) - 1; axis >= 0; axis-- {
		if n *= box[axis]; box[axis] != chunk[axis] {
			break
		}
	}
	return n
}
