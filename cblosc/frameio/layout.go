// Memory layout of a box of elements in a chunk and in the caller's buffer.

package frameio

import "github.com/hyperslab/hyperslab/internal/boxes"

// layout returns the layout of a box of n elements along each axis, of item bytes each, in two
// buffers with these strides in bytes.
func layout(rank int, n, dst, src *vec, item int) boxes.Box {
	return boxes.New(n[:rank], dst[:rank], src[:rank], item)
}
