package ndarray_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newMem returns an array in memory.
func newMem(t interface {
	require.TestingT
	Helper()
}, spec ndarray.Spec) *ndarray.Array {
	t.Helper()
	b, err := mem.New(spec)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

// fromSlice returns an array in memory that contains data.
func fromSlice[T ndarray.Element](t require.TestingT, shape, chunk []int64, data []T) *ndarray.Array {
	b, err := mem.New(ndarray.Spec{Shape: shape, ChunkShape: chunk, DType: ndarray.DTypeOf[T]()})
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(context.Background(), a, data, ndarray.Whole(shape)))
	return a
}

func dtype(t require.TestingT, s string) ndarray.DType {
	d, err := ndarray.ParseDType(s)
	require.NoError(t, err)
	return d
}
