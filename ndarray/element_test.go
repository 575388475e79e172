package ndarray_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// kelvin is a named type. Named types are treated like their underlying types.
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

func TestRead_typed(t *testing.T) {
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

func TestRead_typeMismatch(t *testing.T) {
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

// TestElement_Bools checks that a stored true, which may be any byte except 0, becomes a valid
// Go bool.
func TestElement_Bools(t *testing.T) {
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

func TestElement_ScalarsNull(t *testing.T) {
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
	for range null.ChunkRegions() {
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

type inner struct {
	K uint16
	Z complex64
}

type row struct {
	ID    int32  `nd:"id"`
	Name  string `nd:"name,S6"`
	Word  string `nd:"word,U4"`
	Grid  [2][3]int16
	On    bool
	In    inner    `nd:"in"`
	Many  [2]inner `nd:"many"`
	Half  [2]byte  `nd:"half,f2"`
	Tick  int64    `nd:"tick,M8[ns]"`
	Spare int      `nd:"-"`
	_     string
}

func rows() []row {
	return []row{
		{ID: -7, Name: "six by", Word: "日本", Grid: [2][3]int16{{1, 2, 3}, {4, 5, 6}}, On: true, In: inner{9, 1 - 2i},
			Many: [2]inner{{1, 2}, {3, 4i}}, Half: [2]byte{1, 2}, Tick: 1e18},
		{Name: "", Word: "abcd", Tick: math.MinInt64},
	}
}

// TestStructs checks Go structs with structured arrays of both byte orders and any layout.
func TestStructs(t *testing.T) {
	d, err := ndarray.DTypeFor[row]()
	require.NoError(t, err)
	swapped := d.MapParts(func(p ndarray.DType) ndarray.DType {
		switch p.Order {
		case ndarray.Little:
			p.Order = ndarray.Big
		case ndarray.Big:
			p.Order = ndarray.Little
		}
		return p
	})
	packed := ndarray.StructOf(false, d.Fields...)
	for _, d := range []ndarray.DType{d, swapped, packed} {
		require.NoError(t, d.Validate())
		a := newMem(t, ndarray.Spec{Shape: []int64{2}, DType: d})
		require.NoError(t, ndarray.Write(t.Context(), a, rows(), ndarray.Whole(a.Shape())))
		got, err := ndarray.ReadAll[row](t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, rows(), got)

		// Read only some of the fields.
		some, err := ndarray.ReadAll[struct {
			Name string             `nd:"name"`
			In   struct{ K uint16 } `nd:"in"`
		}](t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, "six by", some[0].Name)
		require.Equal(t, uint16(9), some[0].In.K)

		one, err := ndarray.Take[row](t.Context(), a, ndarray.Select(ndarray.At(-1)))
		require.NoError(t, err)
		require.Equal(t, rows()[1:], one)
		require.NoError(t, ndarray.Put(t.Context(), a, rows()[:1], ndarray.Select(ndarray.At(1))))
		got, err = ndarray.ReadAll[row](t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, got[0], got[1])
	}
}

// TestStructsRefused checks that structs that do not match the dtype are rejected, and values that
// the array cannot store.
func TestStructsRefused(t *testing.T) {
	d, err := ndarray.DTypeFor[row]()
	require.NoError(t, err)
	a := newMem(t, ndarray.Spec{Shape: []int64{1}, DType: d})
	ctx, r := t.Context(), ndarray.Whole(a.Shape())
	err = ndarray.Write(ctx, a, []struct{ On bool }{{true}}, r)
	require.ErrorIs(t, err, ndarray.ErrType)
	require.ErrorContains(t, err, `no Go field for "id"`)
	err = ndarray.Read(ctx, a, make([]struct{ Missing int8 }, 1), r)
	require.ErrorIs(t, err, ndarray.ErrType)
	require.ErrorContains(t, err, `"Missing"`)
	err = ndarray.Read(ctx, a, make([]struct{ On int8 }, 1), r)
	require.ErrorIs(t, err, ndarray.ErrType)
	require.ErrorContains(t, err, `field "On"`)
	require.ErrorIs(t, ndarray.Read(ctx, a, make([]row, 2), r), ndarray.ErrSize)
	bad := rows()[:1]
	bad[0].Name = "seven b"
	err = ndarray.Write(ctx, a, bad, r)
	require.ErrorIs(t, err, ndarray.ErrValue)
	require.ErrorContains(t, err, "string: got 7 bytes, want at most 6")
	bad[0].Name, bad[0].Word = "ends\x00", ""
	require.ErrorIs(t, ndarray.Write(ctx, a, bad, r), ndarray.ErrValue)
	bad[0].Name, bad[0].Word = "", "fives"
	require.ErrorIs(t, ndarray.Write(ctx, a, bad, r), ndarray.ErrValue)
	bad[0].Word = "\xff"
	require.ErrorIs(t, ndarray.Write(ctx, a, bad, r), ndarray.ErrValue)
	for _, f := range []func() (ndarray.DType, error){
		ndarray.DTypeFor[string], ndarray.DTypeFor[int], ndarray.DTypeFor[[]string], ndarray.DTypeFor[struct{}],
		ndarray.DTypeFor[struct{ S string }], ndarray.DTypeFor[struct {
			A int32 `nd:"a,f4"`
		}], ndarray.DTypeFor[struct {
			A string `nd:"a,S"`
		}], ndarray.DTypeFor[*int32], ndarray.DTypeFor[[0]int32],
	} {
		_, err := f()
		require.ErrorIs(t, err, ndarray.ErrType)
	}
}

func TestElement_TextStrings(t *testing.T) {
	for _, c := range []struct {
		dtype ndarray.DType
		fits  []string
		not   []string
	}{
		{dtype(t, "S3"), []string{"", "a", "abc", "a\x00b", "é"}, []string{"abcd", "a\x00"}},
		{dtype(t, ">U3"), []string{"", "日本語", "a\x00b"}, []string{"abcd", "a\x00", "\xff"}},
		{ndarray.DType{Kind: ndarray.Bytes, Size: 3, Order: ndarray.NoOrder, Pad: ndarray.SpacePad}, []string{"", "a b", "ab"}, []string{"a ", "abcd"}},
		{ndarray.DType{Kind: ndarray.Bytes, Size: 3, Order: ndarray.NoOrder, Pad: ndarray.NullTerm}, []string{"", "ab"}, []string{"abc", "a\x00b"}},
	} {
		a := newMem(t, ndarray.Spec{DType: c.dtype})
		for _, s := range c.fits {
			require.NoError(t, ndarray.Write(t.Context(), a, []string{s}, ndarray.Region{}), "%q in %v", s, c.dtype)
			got, err := ndarray.ReadAll[string](t.Context(), a)
			require.NoError(t, err)
			require.Equal(t, []string{s}, got)
		}
		for _, s := range c.not {
			require.ErrorIs(t, ndarray.Write(t.Context(), a, []string{s}, ndarray.Region{}), ndarray.ErrValue, "%q in %v", s, c.dtype)
		}
	}
	a := newMem(t, ndarray.Spec{DType: dtype(t, "U1")})
	require.NoError(t, ndarray.Write(t.Context(), a, [][4]byte{{0xff, 0xff, 0xff, 0xff}}, ndarray.Region{}))
	_, err := ndarray.ReadAll[string](t.Context(), a)
	require.ErrorIs(t, err, ndarray.ErrValue, "no code point")
}
