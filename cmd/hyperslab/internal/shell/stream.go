// Copies of arrays from the first element to the last, for pipes and for targets that grow.

package shell

import (
	"context"
	"math"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

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
	return min(most, grid.RoundUp(least, layer, math.MaxInt64))
}

// elements can be read in consecutive pieces. Both *ndarray.Array and arrays from pipes implement
// it.
type elements interface {
	Read(ctx context.Context, dst []byte, r ndarray.Region) error
}

// Pieces describe how the elements of an array are read one piece after the other.
type Pieces struct {
	Shape  []int64
	Chunk  []int64 // of the array, or of the target
	Size   int     // bytes of an element
	Memory int64   // maximum bytes of a piece
}

// Copy reads all elements of src. write gets each piece with its bytes in native order.
func (p Pieces) Copy(ctx context.Context, src elements, write func(r ndarray.Region, b []byte) error) error {
	var buf []byte
	for box := range grid.Consecutive(grid.Whole(p.Shape), p.Chunk, p.Memory/int64(p.Size)) {
		r := ndarray.Region(box)
		if err := ctx.Err(); err != nil {
			return err
		}
		n := r.NumElems() * int64(p.Size)
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
