// Copies of arrays from the first element to the last, for pipes and for targets that grow.

package shell

import (
	"context"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

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
