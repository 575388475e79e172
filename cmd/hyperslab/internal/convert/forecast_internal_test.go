package convert

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// TestForecast checks that the forecast extrapolates from the sampled data to the rest, and counts
// data that cannot be sampled as uncompressed.
func TestForecast(t *testing.T) {
	f := &forecast{sampled: 1000, stored: 100, took: time.Second, rest: 3000, plain: 7}
	stored, took := f.total()
	require.EqualValues(t, 407, stored)
	require.Equal(t, 4*time.Second, took)

	ctx := context.Background()
	b, err := mem.New(ndarray.Spec{Shape: []int64{1 << 16}, DType: ndarray.DTypeOf[int32]()})
	require.NoError(t, err)
	arr, err := ndarray.New(b)
	require.NoError(t, err)
	defer func() { require.NoError(t, arr.Close()) }()
	f = newForecast(1, 16<<20)
	spec := arr.Meta().Spec()
	require.NoError(t, f.add(ctx, arr, spec, hyperslab.B2ND))
	zeros, _ := f.total()
	require.Less(t, zeros, int64(4096), "zeros take next to nothing")
	require.EqualValues(t, 4<<16, f.sampled)
	require.EqualValues(t, forecastBytes-4<<16, f.left)
	f.left = 0
	require.NoError(t, f.add(ctx, arr, spec, hyperslab.B2ND))
	require.EqualValues(t, 4<<16, f.rest)
	twice, _ := f.total()
	require.Equal(t, 2*zeros, twice)
	f.left = 1
	require.NoError(t, f.add(ctx, arr, spec, hyperslab.Bcolz))
	more, _ := f.total()
	require.Equal(t, twice+4<<16, more)
}
