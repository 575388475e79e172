// This file is excluded from builds with the address sanitizer, which allocates memory itself.

//go:build !asan

package h5_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestDataset_RegionAllocations checks that reading and writing a region allocates no Go memory.
func TestDataset_RegionAllocations(t *testing.T) {
	d := newDataset(t, h5.IEEEFloat(8, h5.BigEndian), h5.SimpleSpace(4, 4, 4, 4), nil)
	mem := h5.IEEEFloat(8, h5.NativeOrder)
	r := h5.Region{Start: []int64{0, 0, 0, 0}, Count: []int64{4, 4, 2, 2}, Stride: []int64{1, 1, 2, 2}}
	buf := make([]byte, 64*8)
	require.NoError(t, d.WriteRegion(buf, mem, r))
	for name, f := range map[string]func() error{
		"ReadRegion":  func() error { return d.ReadRegion(buf, mem, r) },
		"WriteRegion": func() error { return d.WriteRegion(buf, mem, r) },
	} {
		// AllocsPerRun counts all allocations of the process, for example those of a concurrent
		// collection or cleanup. The test therefore requires only one of several runs to be without
		// allocations.
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
