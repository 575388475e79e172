// The address sanitizer allocates for its own ends.

//go:build !asan

package h5_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// Reading and writing a region allocates nothing in Go.
func TestRegionsAllocateNothing(t *testing.T) {
	d := newDataset(t, h5.IEEEFloat(8, h5.BigEndian), h5.SimpleSpace(4, 4, 4, 4), nil)
	mem := h5.IEEEFloat(8, h5.NativeOrder)
	r := h5.Region{Start: []int64{0, 0, 0, 0}, Count: []int64{4, 4, 2, 2}, Stride: []int64{1, 1, 2, 2}}
	buf := make([]byte, 64*8)
	require.NoError(t, d.WriteRegion(buf, mem, r))
	for name, f := range map[string]func() error{
		"ReadRegion":  func() error { return d.ReadRegion(buf, mem, r) },
		"WriteRegion": func() error { return d.WriteRegion(buf, mem, r) },
	} {
		// The count is the process's: a collection or a cleanup beside it counts too,
		// so that one run of several must be clean.
		least := math.Inf(1)
		for range 10 {
			least = min(least, testing.AllocsPerRun(100, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			}))
		}
		require.Zero(t, least, name)
	}
}
