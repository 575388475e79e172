// Regions, which are boxes of elements, and shape arithmetic with overflow checks.

package ndarray

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// MaxRank is the maximum number of dimensions of an Array. It is HDF5's limit (H5S_MAX_RANK). A
// backend may have a lower limit.
const MaxRank = 32

// Region is a box of elements: Shape[i] elements from Start[i] on, along each axis. A region of
// rank 0 has one element.
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
	n, ok := Product(r.Shape)
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

// Intersect returns the common elements of r and o, which must have the same rank, and whether
// there are any.
func (r Region) Intersect(o Region) (Region, bool) {
	x := Region{Start: make([]int64, len(r.Start)), Shape: make([]int64, len(r.Start))}
	for i := range r.Start {
		from := max(r.Start[i], o.Start[i])
		n := min(r.Shape[i]-(from-r.Start[i]), o.Shape[i]-(from-o.Start[i])) // avoids the ends, which could overflow
		if n <= 0 {
			return Region{}, false
		}
		x.Start[i], x.Shape[i] = from, n
	}
	return x, true
}

// Equal reports whether r and o are the same box.
func (r Region) Equal(o Region) bool {
	return slices.Equal(r.Start, o.Start) && slices.Equal(r.Shape, o.Shape)
}

// Clone returns a copy that shares no memory with r.
func (r Region) Clone() Region {
	return Region{Start: slices.Clone(r.Start), Shape: slices.Clone(r.Shape)}
}

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

// Product multiplies dims, each ≥ 0, and reports whether the result fits an int64. The result is 1
// if dims is empty, and 0 if any of them is 0.
func Product(dims []int64) (int64, bool) {
	if slices.Contains(dims, 0) {
		return 0, true
	}
	n := uint64(1)
	for _, d := range dims {
		hi, lo := bits.Mul64(n, uint64(d))
		if d < 0 || hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

// CheckShape returns ErrShape unless shape has at most MaxRank dimensions, all of them ≥ 0, and
// shape × size bytes fit an int64. Zero dimensions are left out of the product, so that strides
// cannot overflow either.
func CheckShape(shape []int64, size int) error {
	if len(shape) > MaxRank {
		return fmt.Errorf("%w: %d axes, at most %d", ErrShape, len(shape), MaxRank)
	}
	dims := make([]int64, 0, MaxRank+1)
	for i, n := range shape {
		if n < 0 {
			return fmt.Errorf("%w: axis %d has length %d", ErrShape, i, n)
		}
		if n > 0 {
			dims = append(dims, n)
		}
	}
	if _, ok := Product(append(dims, int64(max(size, 1)))); !ok {
		return fmt.Errorf("%w: %v elements of %d bytes are more than 2^63-1 bytes", ErrShape, shape, size)
	}
	return nil
}
