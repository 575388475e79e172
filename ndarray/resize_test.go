package ndarray_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestResize_errors checks that errors contain the axis, the index and the length.
func TestResize_errors(t *testing.T) {
	ctx := t.Context()
	a := newMem(t, ndarray.Spec{Shape: []int64{6, 5}, MaxShape: []int64{10, ndarray.Unlimited}, DType: ndarray.DTypeOf[int32]()})
	for says, err := range map[string]error{
		"axis 0: length 11, at most 10":                       a.Resize(ctx, []int64{11, 5}),
		"axis 1 has length -1":                                a.Resize(ctx, []int64{6, -1}),
		"[7] for an array that is [6 5]":                      a.Resize(ctx, []int64{7}),
		"axis 0: length 15, at most 10":                       a.Append(ctx, 0, make([]byte, 9*20)),
		"21 bytes, one step along axis 0 of [6 5] takes 20":   a.Append(ctx, 0, make([]byte, 21)),
		"axis 2 of an array that is [6 5]":                    a.Append(ctx, 2, nil),
		"axis 0: index 7, axis has 6":                         a.Insert(ctx, 0, 7, make([]byte, 20)),
		"axis 1: index -1, axis has 5":                        a.Insert(ctx, 1, -1, make([]byte, 24)),
		"axis 0: 3 indexes from 4 on, axis has 6":             a.Delete(ctx, 0, 4, 3),
		"axis 1: -1 indexes from 0 on, axis has 5":            a.Delete(ctx, 1, 0, -1),
		"axis 1: 2 elements from 4 on, axis has 5":            a.Read(ctx, nil, ndarray.Region{Start: []int64{0, 4}, Shape: []int64{1, 2}}),
		"region has 1 starts and 1 lengths, array has 2 axes": a.Read(ctx, nil, ndarray.Region{Start: []int64{0}, Shape: []int64{1}}),
		"[0:6, 0:5] of 30 elements of 4 bytes needs 120":      a.Write(ctx, nil, ndarray.Whole(a.Shape())),
	} {
		require.ErrorContains(t, err, says)
	}
	require.Equal(t, []int64{6, 5}, a.Shape())
}
