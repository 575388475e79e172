package ndarray_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// kelvin shows that named types count as their underlying ones.
type kelvin float32

func TestDTypeOf(t *testing.T) {
	require.Equal(t, "|b1", ndarray.DTypeOf[bool]().String())
	require.Equal(t, "|i1", ndarray.DTypeOf[int8]().String())
	require.Equal(t, "|u1", ndarray.DTypeOf[uint8]().String())
	for text, d := range map[string]ndarray.DType{
		"i2": ndarray.DTypeOf[int16](), "i4": ndarray.DTypeOf[int32](), "i8": ndarray.DTypeOf[int64](),
		"u2": ndarray.DTypeOf[uint16](), "u4": ndarray.DTypeOf[uint32](), "u8": ndarray.DTypeOf[uint64](),
		"f4": ndarray.DTypeOf[kelvin](), "f8": ndarray.DTypeOf[float64](),
		"c8": ndarray.DTypeOf[complex64](), "c16": ndarray.DTypeOf[complex128](),
	} {
		require.True(t, d.Equal(dtype(t, text)), "%s: %v", text, d)
		require.NoError(t, d.Validate())
	}
}

func TestTypedReadAndWrite(t *testing.T) {
	a := newMem(t, ndarray.Spec{Shape: []int64{2, 3}, DType: dtype(t, ">f4")}) // either byte order
	ctx := t.Context()
	require.NoError(t, ndarray.Write(ctx, a, []kelvin{1, 2, 3, 4, 5, 6}, ndarray.Whole(a.Shape())))
	all, err := ndarray.ReadAll[float32](ctx, a)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, all)
	col := make([]float32, 2)
	require.NoError(t, ndarray.Read(ctx, a, col, ndarray.Region{Start: []int64{0, 1}, Shape: []int64{2, 1}}))
	require.Equal(t, []float32{2, 5}, col)
}

func TestTypeMismatchNamesBothTypes(t *testing.T) {
	a := newMem(t, ndarray.Spec{Shape: []int64{2}, DType: dtype(t, "<i4")})
	ctx, r := t.Context(), ndarray.Whole([]int64{2})
	_, allErr := ndarray.ReadAll[int64](ctx, a)
	for _, err := range []error{
		ndarray.Read(ctx, a, make([]float64, 2), r),
		ndarray.Read(ctx, a, make([]uint32, 2), r),
		ndarray.Read(ctx, a, make([]float32, 2), r),
		ndarray.Write(ctx, a, make([]int16, 2), r),
		ndarray.Write(ctx, a, make([]bool, 2), r),
		allErr,
	} {
		require.ErrorIs(t, err, ndarray.ErrType)
		require.ErrorContains(t, err, "<i4")
	}
	require.ErrorContains(t, ndarray.Read(ctx, a, make([]float64, 2), r), "float64")
}

func TestTypedSizes(t *testing.T) {
	a := newMem(t, ndarray.Spec{Shape: []int64{2}, DType: dtype(t, "<i4")})
	ctx, r := t.Context(), ndarray.Whole([]int64{2})
	require.ErrorIs(t, ndarray.Read(ctx, a, make([]int32, 1), r), ndarray.ErrSize)
	require.ErrorIs(t, ndarray.Read(ctx, a, make([]int32, 3), r), ndarray.ErrSize)
	require.ErrorIs(t, ndarray.Write(ctx, a, []int32(nil), r), ndarray.ErrSize)
	require.NoError(t, ndarray.Read(ctx, a, []int32(nil), ndarray.Region{Start: []int64{1}, Shape: []int64{0}}))
}

// A file may hold true as any byte but 0; a Go bool must not.
func TestBoolsAreNormalized(t *testing.T) {
	a := newMem(t, ndarray.Spec{Shape: []int64{3}, DType: dtype(t, "bool")})
	ctx := t.Context()
	require.NoError(t, a.Write(ctx, []byte{0, 1, 255}, ndarray.Whole(a.Shape())))
	got, err := ndarray.ReadAll[bool](ctx, a)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, true}, got)
	for _, b := range got[1:] {
		require.True(t, b == got[1], "two trues are equal") // fails if the byte is not 1
	}
	v, err := ndarray.ValuesOf[bool](ndarray.Value{DType: a.DType(), Shape: []int64{1}, Data: []byte{2}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, v)
}

func TestScalarsAndNull(t *testing.T) {
	ctx := t.Context()
	a := newMem(t, ndarray.Spec{DType: ndarray.DTypeOf[float64]()})
	require.NoError(t, ndarray.Write(ctx, a, []float64{math.Pi}, ndarray.Region{}))
	got, err := ndarray.ReadAll[float64](ctx, a)
	require.NoError(t, err)
	require.Equal(t, []float64{math.Pi}, got)

	null := newMem(t, ndarray.Spec{Null: true, DType: ndarray.DTypeOf[float64]()})
	got, err = ndarray.ReadAll[float64](ctx, null)
	require.NoError(t, err)
	require.Empty(t, got)
	require.ErrorIs(t, ndarray.Read(ctx, null, make([]float64, 1), ndarray.Region{}), ndarray.ErrRegion)
	for range null.Chunks() {
		require.Fail(t, "a null array has no chunk")
	}
}

func TestValues(t *testing.T) {
	v := ndarray.Vector[int32](1, -2, 3)
	require.NoError(t, v.Validate())
	got, err := ndarray.ValuesOf[int32](v)
	require.NoError(t, err)
	require.Equal(t, []int32{1, -2, 3}, got)
	_, err = ndarray.ValuesOf[uint32](v)
	require.ErrorIs(t, err, ndarray.ErrType)
	require.NoError(t, ndarray.Vector[float64]().Validate())
	require.NoError(t, ndarray.Scalar(int8(3)).Validate())
	require.NoError(t, ndarray.Text("x").Validate())
	require.ErrorIs(t, ndarray.Text("a\x00b").Validate(), ndarray.ErrParam)

	for _, bad := range []struct {
		edit func(*ndarray.Value)
		want error
	}{
		{func(v *ndarray.Value) { v.Data = v.Data[1:] }, ndarray.ErrSize},
		{func(v *ndarray.Value) { v.Shape = []int64{4} }, ndarray.ErrSize},
		{func(v *ndarray.Value) { v.Strings = []string{"x"} }, ndarray.ErrSize},
		{func(v *ndarray.Value) { v.Null = true }, ndarray.ErrShape},
		{func(v *ndarray.Value) { v.Shape = []int64{-3} }, ndarray.ErrShape},
		{func(v *ndarray.Value) { v.DType = ndarray.DType{} }, ndarray.ErrType},
		{func(v *ndarray.Value) { v.DType = ndarray.Text("").DType }, ndarray.ErrSize},
	} {
		w := v.Clone()
		bad.edit(&w)
		require.ErrorIs(t, w.Validate(), bad.want)
		require.False(t, w.Equal(v))
	}
}
