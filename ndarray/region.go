// Regions, which are boxes of elements.

package ndarray

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// Region is a box of elements: Shape[i] elements from Start[i] on, along each axis, at most 32 of
// them. A region of rank 0 has one element.
type Region struct {
	Start, Shape []int64 // elements, one number per axis
}

// Whole returns the region that covers an array of the given shape.
func Whole(shape []int64) Region {
	return Region{Start: make([]int64, len(shape)), Shape: slices.Clone(shape)}
}

// NumElems returns the number of elements. If the product overflows, it is math.MaxInt64, which
// matches no buffer.
func (r Region) NumElems() int64 {
	n, ok := grid.Product(r.Shape)
	if !ok {
		return math.MaxInt64
	}
	return n
}

// Check returns ErrRegion, with the axis and both numbers, unless r lies inside
// an array of the given shape. An empty region may start at the end.
func (r Region) Check(shape []int64) error {
	if len(r.Start) != len(shape) || len(r.Shape) != len(shape) {
		return fmt.Errorf("%w: region has %d starts and %d lengths, array has %d axes",
			ErrRegion, len(r.Start), len(r.Shape), len(shape))
	}
	for i, n := range shape {
		start, count := r.Start[i], r.Shape[i]
		if start < 0 || count < 0 || start > n || count > n-start {
			return fmt.Errorf("%w: axis %d: %d elements from %d on, axis has %d", ErrRegion, i, count, start, n)
		}
	}
	return nil
}

func (r Region) clone() Region { return Region(grid.Box(r).Clone()) }

// String returns the region as a NumPy slice, for example "[0:2, 4:5]".
func (r Region) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range r.Start {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatInt(r.Start[i], 10))
		b.WriteByte(':')
		b.WriteString(strconv.FormatInt(r.Start[i]+r.Shape[i], 10))
	}
	b.WriteByte(']')
	return b.String()
}
