package ndarray_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// readAs compares ReadAs with Convert of each element, for random values and regions.
func readAs[T ndarray.Element](t *rapid.T, a *ndarray.Array, stored []byte) {
	shape := a.Shape()
	r := ndarray.Region{Start: make([]int64, len(shape)), Shape: make([]int64, len(shape))}
	for i, n := range shape {
		r.Start[i] = rapid.Int64Range(0, n-1).Draw(t, "start")
		r.Shape[i] = rapid.Int64Range(0, n-r.Start[i]).Draw(t, "count")
	}
	got := make([]T, r.NumElems())
	err := ndarray.ReadAs(context.Background(), a, got, r)
	from, to := a.DType(), ndarray.DTypeOf[T]()
	k := 0
	for i := r.Start[0]; i < r.Start[0]+r.Shape[0]; i++ {
		for j := r.Start[1]; j < r.Start[1]+r.Shape[1]; j++ {
			n := int(i*shape[1] + j)
			element, want := stored[n*from.Size:(n+1)*from.Size], make([]byte, to.Size)
			if ndarray.Convert(want, to, element, from, false) != nil {
				require.ErrorIs(t, err, ndarray.ErrValue)
				require.ErrorContains(t, err, fmt.Sprintf("element [%d %d]: %s is no", i, j, ndarray.FormatElement(from, element)))
				return
			}
			require.Equal(t, ndarray.FormatElement(to, want), ndarray.Scalar(got[k]).String())
			k++
		}
	}
	require.NoError(t, err)
}

func TestReadAs_types(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := dtype(t, rapid.SampledFrom([]string{"?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}).Draw(t, "from"))
		shape := []int64{rapid.Int64Range(1, 5).Draw(t, "rows"), rapid.Int64Range(1, 5).Draw(t, "columns")}
		b, err := mem.New(ndarray.Spec{Shape: shape, DType: from, ChunkShape: []int64{2, 3}})
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		stored := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 0, 1, 1, 2, 0x3c, 0x40, 0x80, 0xff}), int(a.NBytes()), int(a.NBytes())).Draw(t, "values")
		if from.Kind == ndarray.Bool {
			for i := range stored {
				stored[i] &= 1
			}
		}
		require.NoError(t, a.Write(context.Background(), stored, ndarray.Whole(shape)))
		readAs[int8](t, a, stored)
		readAs[int64](t, a, stored)
		readAs[uint16](t, a, stored)
		readAs[float32](t, a, stored)
		readAs[float64](t, a, stored)
		readAs[bool](t, a, stored)
	})
}

func TestReadAs(t *testing.T) {
	ctx := context.Background()
	create := func(t *testing.T, d ndarray.DType) *ndarray.Array {
		t.Helper()
		b, err := mem.New(ndarray.Spec{Shape: []int64{2, 3}, DType: d})
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		return a
	}
	whole := ndarray.Whole([]int64{2, 3})
	a := create(t, ndarray.DTypeOf[int16]())
	require.NoError(t, ndarray.WriteAs(ctx, a, []float64{1, 2, 3, 4, 5, 300}, whole))

	t.Run("values", func(t *testing.T) {
		got := make([]float32, 6)
		require.NoError(t, ndarray.ReadAs(ctx, a, got, whole))
		require.Equal(t, []float32{1, 2, 3, 4, 5, 300}, got)
	})
	t.Run("overflow", func(t *testing.T) {
		err := ndarray.ReadAs(ctx, a, make([]uint8, 6), whole)
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, "element [1 2]: 300 is not a value of |u1")
	})
	t.Run("fraction", func(t *testing.T) {
		err := ndarray.WriteAs(ctx, a, []float64{7, 7, 7, 7, 0.5, 7}, whole)
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, "element [1 1]: 0.5 is not a value of <i2")
		got := make([]int16, 6)
		require.NoError(t, ndarray.Read(ctx, a, got, whole))
		require.Equal(t, []int16{1, 2, 3, 4, 5, 300}, got, "unchanged")
	})
	t.Run("not a number", func(t *testing.T) {
		require.ErrorIs(t, ndarray.WriteAs(ctx, a, []float64{math.NaN(), 0, 0, 0, 0, 0}, whole), ndarray.ErrValue)
	})
	t.Run("size", func(t *testing.T) {
		require.ErrorIs(t, ndarray.ReadAs(ctx, a, make([]float64, 5), whole), ndarray.ErrSize)
		require.ErrorIs(t, ndarray.WriteAs(ctx, a, make([]float64, 5), whole), ndarray.ErrSize)
	})
	t.Run("region", func(t *testing.T) {
		outside := ndarray.Region{Start: []int64{0, 1}, Shape: []int64{2, 3}}
		require.ErrorIs(t, ndarray.ReadAs(ctx, a, make([]float64, 6), outside), ndarray.ErrRegion)
		require.ErrorIs(t, ndarray.WriteAs(ctx, a, make([]float64, 6), outside), ndarray.ErrRegion)
	})
	t.Run("type", func(t *testing.T) {
		text := create(t, dtype(t, "S4"))
		require.ErrorIs(t, ndarray.ReadAs(ctx, text, make([]float64, 6), whole), ndarray.ErrType)
		require.ErrorIs(t, ndarray.WriteAs(ctx, text, make([]float64, 6), whole), ndarray.ErrType)
		require.ErrorIs(t, ndarray.ReadAs(ctx, a, make([]complex128, 6), whole), ndarray.ErrType)
	})
}
