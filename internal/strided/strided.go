// Copy and its type Box.

package strided

import (
	"slices"

	"github.com/hyperslab/hyperslab/internal/boxes"
)

// Box is a row-major buffer of elements and the start of a box in it.
type Box struct {
	Data  []byte
	Shape []int64 // length of each dimension of Data
	Start []int64 // index of the box's first element
}

// Copy copies a box of the given shape, of elements of size bytes, from src to dst. Both boxes must
// lie inside their buffers, and the buffers must not overlap. Dimensions that are complete on both
// sides are copied in one piece.
func Copy(dst, src Box, shape []int64, size int) {
	if size == 0 || slices.Contains(shape, 0) {
		return
	}
	to, from := dst.at(size), src.at(size)
	box := boxes.New(shape, boxes.Strides(dst.Shape, size), boxes.Strides(src.Shape, size), size)
	box.Copy(dst.Data[to:], src.Data[from:])
}

// at returns the offset in bytes of the first element of the box.
func (b Box) at(size int) (at int64) {
	step := int64(size)
	for i := len(b.Shape) - 1; i >= 0; i-- {
		at += b.Start[i] * step
		step *= b.Shape[i]
	}
	return at
}
