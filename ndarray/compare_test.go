package ndarray_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

func compare(t require.TestingT, a, b *ndarray.Array, o *ndarray.CompareOptions) ndarray.Comparison {
	c, err := ndarray.Compare(context.Background(), a, b, o)
	require.NoError(t, err)
	return c
}

// TestCompareAgainstModel checks that Compare finds the same count and the same first differences
// as a simple loop, for all grids and memory limits.
func TestCompareAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 8), rank, rank).Draw(t, "shape")
		n, _ := grid.Product(shape)
		chunk := func(label string) []int64 {
			return rapid.SliceOfN(rapid.Int64Range(1, 9), rank, rank).Draw(t, label)
		}
		x := rapid.SliceOfN(rapid.Int32Range(0, 3), int(n), int(n)).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Int32Range(0, 3), int(n), int(n)).Draw(t, "y")
		a, b := fromSlice(t, shape, chunk("a"), x), fromSlice(t, shape, chunk("b"), y)
		o := &ndarray.CompareOptions{
			MaxDiffs: rapid.IntRange(0, 5).Draw(t, "list"),
			Workers:  rapid.IntRange(0, 4).Draw(t, "workers"),
			Memory:   rapid.Int64Range(8, 1000).Draw(t, "memory"),
		}
		c := compare(t, a, b, o)
		var want []ndarray.Difference
		for i := range x {
			if x[i] != y[i] {
				at := make([]int64, rank)
				for axis, rest := rank-1, int64(i); axis >= 0; axis-- {
					at[axis], rest = rest%shape[axis], rest/shape[axis]
				}
				want = append(want, ndarray.Difference{
					Index: at, A: ndarray.Scalar(x[i]).String(), B: ndarray.Scalar(y[i]).String(),
				})
			}
		}
		require.True(t, c.SameShape && c.SameDType && c.ValuesCompared)
		require.Equal(t, n, c.NumElems)
		require.Equal(t, int64(len(want)), c.NumDiffs)
		require.Equal(t, len(want) == 0, c.Equal())
		if listed := min(len(want), max(o.MaxDiffs, 1)); listed > 0 {
			require.Equal(t, want[:listed], c.Diffs)
		} else {
			require.Empty(t, c.Diffs)
		}
	})
}

// TestCompareIntegersExactly checks that integers are compared exactly, and not as float64.
func TestCompareIntegersExactly(t *testing.T) {
	a := fromSlice(t, []int64{2}, nil, []int64{1 << 53, math.MaxInt64})
	b := fromSlice(t, []int64{2}, nil, []int64{1<<53 + 1, math.MaxInt64})
	for _, tol := range []*ndarray.Tolerance{nil, {Rtol: 0.5, Atol: 10}} {
		c := compare(t, a, b, &ndarray.CompareOptions{Tolerance: tol})
		require.Equal(t, int64(1), c.NumDiffs)
		require.Equal(t, []ndarray.Difference{{Index: []int64{0}, A: "9007199254740992", B: "9007199254740993"}}, c.Diffs)
	}
}

func TestCompareFloats(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	negZero := math.Copysign(0, -1)
	other := math.Float64frombits(0x7ff8000000000002)
	bits := (*ndarray.Tolerance)(nil)
	zero := &ndarray.Tolerance{}
	near := &ndarray.Tolerance{Rtol: 1e-6, Atol: 1e-9}
	nans := &ndarray.Tolerance{Rtol: 1e-6, EqualNaN: true}
	for _, c := range []struct {
		a, b float64
		tol  *ndarray.Tolerance
		same bool
	}{
		{1, 1, bits, true},
		{0, negZero, bits, false},
		{nan, nan, bits, true},
		{nan, other, bits, false},
		{0, negZero, zero, true},
		{1, math.Nextafter(1, 2), zero, false},
		{nan, nan, zero, false},
		{1, 1 + 1e-7, near, true},
		{1, 1 + 1e-5, near, false},
		{0, 1e-10, near, true},
		{0, 1e-8, near, false},
		{nan, nan, near, false},
		{nan, other, nans, true},
		{nan, 1, nans, false},
		{1, nan, nans, false},
		{inf, inf, near, true},
		{inf, -inf, near, false},
		{1e308, inf, near, false},
		{inf, 1e308, near, false},
	} {
		a, b := fromSlice(t, []int64{}, nil, []float64{c.a}), fromSlice(t, []int64{}, nil, []float64{c.b})
		got := compare(t, a, b, &ndarray.CompareOptions{Tolerance: c.tol})
		require.Equal(t, c.same, got.Equal(), "%v and %v with %+v", c.a, c.b, c.tol)

		// The same values as the real part of a complex number and as float32.
		x, y := fromSlice(t, []int64{1}, nil, []complex128{complex(c.a, 0)}), fromSlice(t, []int64{1}, nil, []complex128{complex(c.b, 0)})
		got = compare(t, x, y, &ndarray.CompareOptions{Tolerance: c.tol})
		require.Equal(t, c.same, got.Equal(), "complex %v and %v with %+v", c.a, c.b, c.tol)
	}
	// The tolerance applies to the modulus of complex numbers and to the value of float16.
	x := fromSlice(t, []int64{1}, nil, []complex64{3 + 4i})
	y := fromSlice(t, []int64{1}, nil, []complex64{3 + 5i})
	require.True(t, func() bool {
		c := compare(t, x, y, &ndarray.CompareOptions{Tolerance: &ndarray.Tolerance{Atol: 1}})
		return c.Equal()
	}())
	half := func(b []byte) *ndarray.Array {
		a := newMem(t, ndarray.Spec{DType: dtype(t, "f2")})
		require.NoError(t, a.Write(t.Context(), b, ndarray.Region{}))
		return a
	}
	c := compare(t, half(element(uint16(0x3c00))), half(element(uint16(0x3c01))), &ndarray.CompareOptions{Tolerance: &ndarray.Tolerance{Atol: 0.001}})
	require.True(t, c.Equal())
	c = compare(t, half(element(uint16(0x3c00))), half(element(uint16(0x3c01))), &ndarray.CompareOptions{Tolerance: &ndarray.Tolerance{Atol: 0.0009}})
	require.False(t, c.Equal())
}

func TestCompare_shapesAndTypes(t *testing.T) {
	spec := func(shape []int64, d string) *ndarray.Array {
		return newMem(t, ndarray.Spec{Shape: shape, DType: dtype(t, d)})
	}
	base := spec([]int64{2, 2}, "<i4")
	c := compare(t, base, spec([]int64{4}, "<i4"), nil)
	require.False(t, c.SameShape || c.ValuesCompared || c.Equal())
	c = compare(t, spec([]int64{}, "<i4"), newMem(t, ndarray.Spec{Null: true, DType: dtype(t, "<i4")}), nil)
	require.False(t, c.SameShape, "a scalar is not null")
	c = compare(t, base, spec([]int64{2, 2}, "S4"), nil)
	require.False(t, c.SameDType || c.ValuesCompared || c.Equal())

	// A different byte order is reported separately.
	c = compare(t, base, spec([]int64{2, 2}, ">i4"), nil)
	require.True(t, c.ValuesCompared)
	require.Zero(t, c.NumDiffs)
	require.False(t, c.SameDType || c.Equal())
	c = compare(t, base, spec([]int64{2, 2}, ">i4"), &ndarray.CompareOptions{IgnoreOrder: true})
	require.True(t, c.Equal())
	require.Equal(t, ">i4", c.B.DType.String())
}

func TestCompareAttributes(t *testing.T) {
	with := func(attrs ...ndarray.Attr) *ndarray.Array {
		return newMem(t, ndarray.Spec{Shape: []int64{1}, DType: dtype(t, "<i4"), Attrs: attrs})
	}
	attr := func(name string, v ndarray.Value) ndarray.Attr { return ndarray.Attr{Name: name, Value: v} }
	a := with(attr("same", ndarray.Scalar(1.5)), attr("type", ndarray.Scalar(int8(1))), attr("value", ndarray.Text("x")), attr("gone", ndarray.Scalar(true)))
	b := with(attr("new", ndarray.Vector[int32](1, 2)), attr("value", ndarray.Text("y")), attr("type", ndarray.Scalar(int16(1))), attr("same", ndarray.Scalar(1.5)))
	c := compare(t, a, b, nil)
	native := string(rune(ndarray.NativeOrder))
	require.Equal(t, []ndarray.AttrDifference{
		{Name: "type", A: "|i1 1", B: native + "i2 1"},
		{Name: "value", A: `string "x"`, B: `string "y"`},
		{Name: "gone", A: "|b1 true"},
		{Name: "new", B: native + "i4 [2] [1 2]"},
	}, c.Attrs)
	require.False(t, c.Equal())
	c = compare(t, a, b, &ndarray.CompareOptions{ExcludeAttrs: []string{"type", "value", "gone", "new"}})
	require.True(t, c.Equal())
	c = compare(t, a, b, &ndarray.CompareOptions{IgnoreAttrs: true})
	require.True(t, c.Equal())
}

// oddAttrs is an array with attributes that cannot be represented.
type oddAttrs struct {
	readOnlyStore
	attrs ndarray.Attrs
	fail  error
}

func (o *oddAttrs) Attrs(context.Context) (ndarray.Attrs, error) { return o.attrs, o.fail }

func TestCompareUnsupportedAttributes(t *testing.T) {
	odd := func(fail error) *ndarray.Array {
		a, err := ndarray.New(&oddAttrs{
			readOnlyStore: readOnlyStore{meta: bareMeta()},
			attrs:         ndarray.Attrs{Unsupported: []ndarray.UnsupportedAttr{{Name: "ref", Type: "H5T_REFERENCE", Reason: "points into a file"}}},
			fail:          fail,
		})
		require.NoError(t, err)
		return a
	}
	bare, err := ndarray.New(&readOnlyStore{meta: bareMeta()})
	require.NoError(t, err)
	c := compare(t, odd(nil), odd(nil), nil)
	require.Equal(t, []ndarray.AttrDifference{{Name: "ref", Unsupported: true, A: "H5T_REFERENCE", B: "H5T_REFERENCE"}}, c.Attrs)
	c = compare(t, odd(nil), bare, nil)
	require.Empty(t, c.Attrs[0].B)
	c = compare(t, bare, odd(nil), nil)
	require.Empty(t, c.Attrs[0].A)
	c = compare(t, odd(nil), bare, &ndarray.CompareOptions{ExcludeAttrs: []string{"ref"}})
	require.True(t, c.Equal())

	// A failing reader must not be treated as an array without attributes, whatever its error.
	for _, fail := range []error{errInjected, errors.ErrUnsupported} {
		_, err = ndarray.Compare(t.Context(), odd(fail), bare, nil)
		require.ErrorIs(t, err, fail)
	}
}

func TestCompare_invalidOptions(t *testing.T) {
	a := fromSlice(t, []int64{1}, nil, []float64{1})
	for _, o := range []ndarray.CompareOptions{
		{Tolerance: &ndarray.Tolerance{Rtol: -1}},
		{Tolerance: &ndarray.Tolerance{Atol: math.NaN()}},
		{Tolerance: &ndarray.Tolerance{Rtol: math.Inf(1)}},
		{MaxDiffs: -1}, {Workers: -1}, {Memory: -1}, {Memory: 15},
	} {
		_, err := ndarray.Compare(t.Context(), a, a, &o)
		require.ErrorIs(t, err, ndarray.ErrParam, "%+v", o)
	}
}

func TestCompare_errors(t *testing.T) {
	ra, a := newRecorder(t, []int64{100}, []int64{10}, dtype(t, "u1"))
	rb, b := newRecorder(t, []int64{100}, []int64{10}, dtype(t, "u1"))
	ra.failRead = 3
	_, err := ndarray.Compare(t.Context(), a, b, &ndarray.CompareOptions{Memory: 20, Workers: 1})
	require.ErrorIs(t, err, errInjected)
	ra.failRead, rb.failRead = 0, len(rb.reads)+4
	_, err = ndarray.Compare(t.Context(), a, b, &ndarray.CompareOptions{Memory: 20, Workers: 1})
	require.ErrorIs(t, err, errInjected)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = ndarray.Compare(ctx, a, b, &ndarray.CompareOptions{Memory: 40, Workers: 2, Progress: func(p ndarray.Progress) {
		if p.DoneUnits == 2 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkCompare(b *testing.B) {
	x := newMem(b, ndarray.Spec{Shape: []int64{1 << 21}, DType: dtype(b, "f8")})
	y := newMem(b, ndarray.Spec{Shape: []int64{1 << 21}, DType: dtype(b, "f8")})
	for name, tol := range map[string]*ndarray.Tolerance{"bits": nil, "tolerance": {Rtol: 1e-9}} {
		b.Run("mode="+name, func(b *testing.B) {
			b.SetBytes(x.NBytes())
			for b.Loop() {
				compare(b, x, y, &ndarray.CompareOptions{Tolerance: tol})
			}
		})
	}
}

// TestCompare_ulp checks that ulps are counted in the type of the floats, also across zero.
func TestCompare_ulp(t *testing.T) {
	ctx := context.Background()
	float := func(v ...float32) *ndarray.Array {
		b, err := mem.New(ndarray.Spec{Shape: []int64{int64(len(v))}, DType: ndarray.DTypeOf[float32]()})
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		require.NoError(t, ndarray.Write(ctx, a, v, ndarray.Whole(a.Shape())))
		return a
	}
	next := func(v float32, n int) float32 {
		for range n {
			v = math.Nextafter32(v, math.MaxFloat32)
		}
		return v
	}
	tiny := math.Float32frombits(1)
	inf := float32(math.Inf(1))
	for _, tt := range []struct {
		a, b float32
		ulp  uint64
		same bool
	}{
		{1, next(1, 3), 3, true}, {1, next(1, 3), 2, false}, {next(1, 3), 1, 3, true}, {-1, next(-1, 4), 4, true}, {-1, next(-1, 4), 3, false},
		{tiny, -tiny, 2, true}, {tiny, -tiny, 1, false}, {0, float32(math.Copysign(0, -1)), 1, true},
		{math.MaxFloat32, inf, 1000, false}, {inf, inf, 1, true}, {inf, -inf, math.MaxUint64, false},
		{-math.MaxFloat32, math.MaxFloat32, math.MaxUint64, true},
	} {
		c, err := ndarray.Compare(ctx, float(tt.a), float(tt.b), &ndarray.CompareOptions{Tolerance: &ndarray.Tolerance{ULP: tt.ulp}})
		require.NoError(t, err)
		require.Equal(t, tt.same, c.NumDiffs == 0, "%+v", tt)
	}
}

func TestCompareAttrs_many(t *testing.T) {
	list := func(n int) (a ndarray.Attrs) {
		for i := range n {
			a.List = append(a.List, ndarray.Attr{Name: fmt.Sprintf("k%d", i), Value: ndarray.Scalar(int32(i))})
			a.Unsupported = append(a.Unsupported, ndarray.UnsupportedAttr{Name: fmt.Sprintf("u%d", i), Type: "t", Raw: []byte{byte(i)}})
		}
		return a
	}
	const n = 50_000 // takes minutes if each name is searched in a list
	x, y := list(n), list(n)
	require.Empty(t, ndarray.CompareAttrs(x, y, nil))
	y.List[7].Value = ndarray.Scalar(int32(-1))
	y.Unsupported[8].Raw = nil
	x.List = x.List[:n-1]
	require.Equal(t, []ndarray.AttrDifference{
		{Name: "k7", A: "<i4 7", B: "<i4 -1"},
		{Name: "u8", A: "t", B: "t", Unsupported: true},
		{Name: "k49999", B: "<i4 49999"},
	}, ndarray.CompareAttrs(x, y, nil))
}
