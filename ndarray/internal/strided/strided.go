// The one function and the box it works on.

package strided

// Box is a row-major buffer of elements and the place in it where a box starts.
type Box struct {
	Data  []byte
	Shape []int64 // elements along each axis of Data
	Start []int64 // first element of the box along each axis
}

// Copy copies a box of the given shape, of elements of size bytes, from src to
// dst. Both boxes must lie inside their buffers and the buffers must not
// overlap. Axes that are whole on both sides are moved in one piece.
func Copy(dst, src Box, shape []int64, size int) {
	run := int64(size) // bytes that lie together on both sides
	axis := len(shape) - 1
	for ; axis >= 0; axis-- {
		run *= shape[axis]
		if shape[axis] != dst.Shape[axis] || shape[axis] != src.Shape[axis] {
			break
		}
	}
	if run == 0 {
		return
	}
	outer := max(axis, 0) // axes before this one are walked
	dstStrides, dstAt := dst.strides(size)
	srcStrides, srcAt := src.strides(size)
	for _, n := range shape[:outer] {
		if n == 0 {
			return
		}
	}
	index := make([]int64, outer)
	for {
		copy(dst.Data[dstAt:dstAt+run], src.Data[srcAt:srcAt+run])
		i := outer - 1
		for ; i >= 0; i-- {
			index[i]++
			dstAt += dstStrides[i]
			srcAt += srcStrides[i]
			if index[i] < shape[i] {
				break
			}
			dstAt -= index[i] * dstStrides[i]
			srcAt -= index[i] * srcStrides[i]
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// strides returns the bytes from one element to the next along each axis, and
// the offset in bytes of the first element of the box.
func (b Box) strides(size int) (strides []int64, at int64) {
	strides = make([]int64, len(b.Shape))
	step := int64(size)
	for i := len(b.Shape) - 1; i >= 0; i-- {
		strides[i] = step
		at += b.Start[i] * step
		step *= b.Shape[i]
	}
	return strides, at
}
