// Shape arithmetic with overflow checks.

package grid

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// MaxRank is the maximum number of dimensions of an array.
const MaxRank = boxes.MaxRank

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

// Check returns ErrShape unless shape has at most MaxRank dimensions, all of them ≥ 0, and
// shape × size bytes fit an int64. Zero dimensions are left out of the product, so that strides
// cannot overflow either.
func Check(shape []int64, size int) error {
	if len(shape) > MaxRank {
		return fmt.Errorf("%w: %d axes, at most %d", errs.ErrShape, len(shape), MaxRank)
	}
	dims := make([]int64, 0, MaxRank+1)
	for i, n := range shape {
		if n < 0 {
			return fmt.Errorf("%w: axis %d has length %d", errs.ErrShape, i, n)
		}
		if n > 0 {
			dims = append(dims, n)
		}
	}
	if _, ok := Product(append(dims, int64(max(size, 1)))); !ok {
		return fmt.Errorf("%w: %v elements of %d bytes are more than 2^63-1 bytes", errs.ErrShape, shape, size)
	}
	return nil
}
