package ndarray_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestRegionCheck(t *testing.T) {
	shape := []int64{4, 3}
	for _, c := range []struct {
		r  ndarray.Region
		ok bool
	}{
		{ndarray.Region{Start: []int64{0, 0}, Shape: []int64{4, 3}}, true},
		{ndarray.Region{Start: []int64{4, 3}, Shape: []int64{0, 0}}, true},
		{ndarray.Region{Start: []int64{3, 2}, Shape: []int64{1, 1}}, true},
		{ndarray.Region{Start: []int64{3, 2}, Shape: []int64{1, 2}}, false},
		{ndarray.Region{Start: []int64{5, 0}, Shape: []int64{0, 0}}, false},
		{ndarray.Region{Start: []int64{math.MaxInt64, 0}, Shape: []int64{math.MaxInt64, 0}}, false},
		{ndarray.Region{Start: []int64{1, 0}, Shape: []int64{math.MaxInt64, 1}}, false},
		{ndarray.Region{Start: []int64{-1, 0}, Shape: []int64{1, 1}}, false},
		{ndarray.Region{Start: []int64{0, 0}, Shape: []int64{1, -1}}, false},
		{ndarray.Region{Start: []int64{0}, Shape: []int64{1}}, false},
		{ndarray.Region{Start: []int64{0}, Shape: []int64{1, 1}}, false},
		{ndarray.Region{}, false},
	} {
		require.Equal(t, c.ok, c.r.Check(shape) == nil, "%+v", c.r)
		if !c.ok {
			require.ErrorIs(t, c.r.Check(shape), ndarray.ErrRegion)
		}
	}
	require.True(t, ndarray.Region{}.Check(nil) == nil)
	require.ErrorContains(t, ndarray.Region{Start: []int64{0, 2}, Shape: []int64{1, 5}}.Check(shape),
		"axis 1: 5 elements from 2 on, axis has 3")
}

func TestRegion_numElemsOverflow(t *testing.T) {
	r := ndarray.Region{Start: []int64{0, 0}, Shape: []int64{1 << 40, 1 << 40}}
	require.Equal(t, int64(math.MaxInt64), r.NumElems())
	require.Equal(t, int64(1), ndarray.Region{}.NumElems())
}

func TestRegionString(t *testing.T) {
	require.Equal(t, "[0:2, 3:4]", ndarray.Region{Start: []int64{0, 3}, Shape: []int64{2, 1}}.String())
	require.Equal(t, "[]", ndarray.Region{}.String())
}
