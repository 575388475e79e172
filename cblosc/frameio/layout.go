// How a box of elements lies in an array and in the caller's memory.

package frameio

import "github.com/hyperslab/hyperslab/internal/boxes"

// layout returns how a box of n elements along each axis, of item bytes each, lies
// in two memories with these strides in bytes.
func layout(rank int, n, dst, src *vec, item int) boxes.Box {
	return boxes.New(n[:rank], dst[:rank], src[:rank], item)
}
