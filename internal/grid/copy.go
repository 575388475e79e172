// Copying of boxes between buffers of regions.

package grid

import "github.com/hyperslab/hyperslab/internal/grid/boxes"

// Copy copies the elements of part, of size bytes each, from src to dst. These are the row-major
// buffers of the regions from and to, which contain part, and must not overlap. Dimensions that are
// complete on both sides are copied in one piece.
func Copy(dst []byte, to Box, src []byte, from, part Box, size int) {
	if n, _ := Product(part.Shape); n == 0 || size == 0 {
		return
	}
	out, in := boxes.Strides(to.Shape, size), boxes.Strides(from.Shape, size)
	b := boxes.New(part.Shape, out, in, size)
	b.Copy(dst[offset(part.Start, to.Start, out):], src[offset(part.Start, from.Start, in):])
}

// offset returns the offset in bytes of the element at in a buffer that begins with the element
// start.
func offset(at, start, strides []int64) (n int64) {
	for i, s := range strides {
		n += (at[i] - start[i]) * s
	}
	return n
}
