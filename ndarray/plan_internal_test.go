package ndarray

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCutter_larger checks that the lengths to which a unit may grow are inside the array, also for
// an array of the maximum length.
func TestCutter_larger(t *testing.T) {
	for _, step := range []int64{1 << 20, 1 << 40, 1 << 62} {
		c := cutter{shape: []int64{math.MaxInt64}, step: []int64{step}, cover: []int64{3}, size: 1}
		for _, n := range []int64{step, math.MaxInt64/2 + 1} {
			for _, length := range c.larger(0, n) {
				require.Positive(t, length, "%d in steps of %d", n, step)
			}
		}
	}
}
