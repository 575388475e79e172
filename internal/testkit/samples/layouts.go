// Shapes, chunk shapes and elements.

package samples

import "github.com/hyperslab/hyperslab/ndarray"

// Layout is a shape with a chunk shape.
type Layout struct{ Shape, ChunkShape []int64 }

// Layouts returns the shapes of the tests: a scalar, empty dimensions, one chunk, edge chunks,
// chunks larger than the array, many dimensions, and no chunk shape.
func Layouts() []Layout {
	return []Layout{
		{[]int64{}, nil},
		{[]int64{0}, []int64{4}},
		{[]int64{3, 0, 2}, []int64{2, 1, 2}},
		{[]int64{1}, nil},
		{[]int64{7}, []int64{7}},
		{[]int64{10}, []int64{4}},
		{[]int64{13, 7}, []int64{5, 3}},
		{[]int64{4, 3}, []int64{1, 3}},
		{[]int64{3, 5}, nil},
		{[]int64{5, 4, 6}, []int64{2, 4, 5}},
		{[]int64{2, 1, 3, 2, 1, 2}, []int64{1, 1, 2, 2, 1, 1}},
	}
}

// Pattern returns n elements of pseudo-random bytes, so that elements at different positions
// differ.
func Pattern(d ndarray.DType, n int64) []byte {
	b := make([]byte, n*int64(d.Size))
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
		if d.Kind == ndarray.Bool {
			b[i] &= 1
		}
		if d.Kind == ndarray.Bytes { // string without padding inside
			b[i] = 'a' + b[i]%26
			if d.Pad == ndarray.NullTerm && i%d.Size == d.Size-1 {
				b[i] = 0
			}
		}
	}
	return b
}
