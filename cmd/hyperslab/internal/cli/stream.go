// Copies of arrays from the first element to the last, for pipes and for targets that grow.

package cli

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/ceil"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// pieces divides an array into boxes of at most most elements, whose concatenation is the array in
// row-major order. A box has single indexes of the leading axes, a stretch of one axis, in whole
// chunks if they fit, and all of the other axes.
func pieces(shape, chunk []int64, most int64) iter.Seq[ndarray.Region] {
	return func(yield func(ndarray.Region) bool) {
		if slices.Contains(shape, 0) {
			return
		}
		cut, below := 0, int64(1) // the axis that is cut, and the number of elements per step along it
		for axis := len(shape) - 1; axis > 0; axis-- {
			if shape[axis] > max(most, 1)/below {
				cut = axis
				break
			}
			below *= shape[axis]
		}
		r := ndarray.Region{Start: make([]int64, len(shape)), Shape: slices.Clone(shape)}
		if len(shape) == 0 {
			yield(r)
			return
		}
		for axis := range cut {
			r.Shape[axis] = 1
		}
		step := min(max(most/below, 1), shape[cut])
		if chunk != nil && step > chunk[cut] {
			step -= step % chunk[cut]
		}
		for {
			for r.Start[cut] = 0; r.Start[cut] < shape[cut]; r.Start[cut] += step {
				r.Shape[cut] = min(step, shape[cut]-r.Start[cut])
				if !yield(ndarray.Region(grid.Box(r).Clone())) {
					return
				}
			}
			axis := cut - 1
			for ; axis >= 0; axis-- {
				if r.Start[axis]++; r.Start[axis] < shape[axis] {
					break
				}
				r.Start[axis] = 0
			}
			if axis < 0 {
				return
			}
		}
	}
}

// progressPiece returns the maximum number of elements of a piece for frequent progress: at least
// some, with a chunk for each worker, in whole layers of chunks. It returns most if not even one
// layer of chunks fits.
func progressPiece(shape, chunk []int64, most, some, workers int64) int64 {
	if len(chunk) == 0 {
		return min(most, max(some, 1))
	}
	axis, inChunk := 0, int64(1)
	for i := range chunk {
		inChunk *= min(chunk[i], shape[i])
		if axis == i && chunk[i] == 1 && i < len(chunk)-1 {
			axis++
		}
	}
	layer := min(chunk[axis], shape[axis])
	for _, n := range shape[axis+1:] {
		layer *= n
	}
	least := max(some, 1)
	if inChunk > least/workers {
		least = min(inChunk, most/workers+1) * workers
	}
	if layer > most || least > most {
		return most
	}
	return min(most, ceil.Multiple(least, layer, math.MaxInt64))
}

// elements can be read in consecutive pieces. Both *ndarray.Array and arrays from pipes implement
// it.
type elements interface {
	Read(ctx context.Context, dst []byte, r ndarray.Region) error
}

// sequential copies all elements of an array of the given shape, one piece after the other. write
// gets each piece with its bytes in native order.
func sequential(ctx context.Context, src elements, shape, chunk []int64, size int, memory int64, write func(r ndarray.Region, b []byte) error) error {
	var buf []byte
	for r := range pieces(shape, chunk, memory/int64(size)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := r.NumElems() * int64(size)
		if buf == nil { // the first piece is the largest
			buf = make([]byte, n)
		}
		if err := src.Read(ctx, buf[:n], r); err != nil {
			return err
		}
		if err := write(r, buf[:n]); err != nil {
			return err
		}
	}
	return nil
}
