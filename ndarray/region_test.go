package ndarray_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestProductAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.OneOf(
			rapid.Int64Range(0, 5),
			rapid.Int64Range(1, math.MaxInt64),
			rapid.Custom(func(t *rapid.T) int64 { return 1 << rapid.IntRange(0, 62).Draw(t, "bit") }),
		), 0, 6).Draw(t, "dims")
		want := big.NewInt(1)
		for _, d := range dims {
			want.Mul(want, big.NewInt(d))
		}
		got, ok := ndarray.Product(dims)
		require.Equal(t, want.IsInt64(), ok, "%v", dims)
		if ok {
			require.Equal(t, want.Int64(), got, "%v", dims)
		}
	})
}

func TestProduct_negative(t *testing.T) {
	_, ok := ndarray.Product([]int64{3, -1})
	require.False(t, ok)
}

func TestCheckShape(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		size  int
		ok    bool
	}{
		{nil, 8, true},
		{[]int64{0}, 8, true},
		{[]int64{math.MaxInt64}, 1, true},
		{[]int64{math.MaxInt64}, 2, false},
		{[]int64{1 << 31, 1 << 31}, 1, true},
		{[]int64{1 << 31, 1 << 31}, 2, false},
		{[]int64{1 << 32, 1 << 32}, 1, false},
		{[]int64{0, 1 << 32, 1 << 32}, 1, false}, // its strides overflow
		{[]int64{-1}, 1, false},
		{slices.Repeat([]int64{1}, 32), 1, true},
		{slices.Repeat([]int64{1}, 33), 1, false},
	} {
		err := ndarray.CheckShape(c.shape, c.size)
		if c.ok {
			require.NoError(t, err, "%v of %d", c.shape, c.size)
		} else {
			require.ErrorIs(t, err, ndarray.ErrShape, "%v of %d", c.shape, c.size)
		}
	}
}

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

// TestRegion_Intersect checks that regions whose ends overflow intersect correctly.
func TestRegion_Intersect(t *testing.T) {
	t.Parallel()
	far := ndarray.Region{Start: []int64{math.MaxInt64 - 2}, Shape: []int64{math.MaxInt64}}
	for _, x := range []struct {
		other ndarray.Region
		want  []int64
	}{
		{ndarray.Region{Start: []int64{0}, Shape: []int64{math.MaxInt64}}, []int64{math.MaxInt64 - 2, 2}},
		{ndarray.Region{Start: []int64{1}, Shape: []int64{math.MaxInt64}}, []int64{math.MaxInt64 - 2, 3}},
		{ndarray.Region{Start: []int64{math.MaxInt64 - 1}, Shape: []int64{7}}, []int64{math.MaxInt64 - 1, 7}},
		{ndarray.Region{Start: []int64{0}, Shape: []int64{9}}, nil},
	} {
		for _, both := range [][2]ndarray.Region{{far, x.other}, {x.other, far}} {
			got, ok := both[0].Intersect(both[1])
			require.Equal(t, x.want != nil, ok, "%+v", x.other)
			if ok {
				require.Equal(t, x.want, []int64{got.Start[0], got.Shape[0]}, "%+v", x.other)
			}
		}
	}
}

func TestIntersectAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		draw := func(label string) ndarray.Region {
			return ndarray.Region{
				Start: rapid.SliceOfN(rapid.Int64Range(0, 5), rank, rank).Draw(t, label+" start"),
				Shape: rapid.SliceOfN(rapid.Int64Range(0, 5), rank, rank).Draw(t, label+" shape"),
			}
		}
		a, b := draw("a"), draw("b")
		both, ok := a.Intersect(b)
		other, ok2 := b.Intersect(a)
		require.Equal(t, ok, ok2)
		require.True(t, both.Equal(other))
		want := make([][2]int64, rank) // the common indexes of each axis, computed one by one
		empty := false
		for i := range rank {
			n := int64(0)
			for x := a.Start[i]; x < a.Start[i]+a.Shape[i]; x++ {
				if x >= b.Start[i] && x < b.Start[i]+b.Shape[i] {
					if n == 0 {
						want[i][0] = x
					}
					n++
				}
			}
			want[i][1] = n
			empty = empty || n == 0
		}
		require.Equal(t, !empty, ok, "%v and %v", a, b)
		for i := range want {
			if ok {
				require.Equal(t, want[i], [2]int64{both.Start[i], both.Shape[i]}, "%v and %v", a, b)
			}
		}
	})
}

func TestRegionString(t *testing.T) {
	require.Equal(t, "[0:2, 3:4]", ndarray.Region{Start: []int64{0, 3}, Shape: []int64{2, 1}}.String())
	require.Equal(t, "[]", ndarray.Region{}.String())
}

// TestGridAgainstModel checks that the chunks of a grid contain each element exactly once, in
// row-major order of chunks, and that no chunk is larger than the chunk shape.
func TestGridAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 7), 0, 4).Draw(t, "shape")
		var chunk []int64
		if rapid.Bool().Draw(t, "chunked") {
			chunk = rapid.SliceOfN(rapid.Int64Range(1, 8), len(shape), len(shape)).Draw(t, "chunk")
		}
		g, err := ndarray.NewGrid(shape, chunk)
		require.NoError(t, err)
		seen := make(map[[4]int64]int)
		var last []int64
		n := int64(0)
		for r := range g.All() {
			n++
			require.True(t, r.Check(shape) == nil, "%v in %v", r, shape)
			require.NotZero(t, r.NumElems())
			if last != nil {
				require.Positive(t, slices.Compare(r.Start, last), "%v after %v", r.Start, last)
			}
			last = r.Start
			most := chunk
			if most == nil {
				most = shape
			}
			for i, s := range r.Shape {
				require.LessOrEqual(t, s, most[i])
				require.Zero(t, r.Start[i]%most[i])
			}
			eachIndex(r, func(at [4]int64) { seen[at]++ })
		}
		require.Equal(t, g.NumChunks(), n)
		total, _ := ndarray.Product(shape)
		require.Len(t, seen, int(total))
		for at, times := range seen {
			require.Equal(t, 1, times, "%v", at)
		}
	})
}

func eachIndex(r ndarray.Region, f func([4]int64)) {
	var walk func(axis int, at [4]int64)
	walk = func(axis int, at [4]int64) {
		if axis == len(r.Shape) {
			f(at)
			return
		}
		for i := range r.Shape[axis] {
			at[axis] = r.Start[axis] + i
			walk(axis+1, at)
		}
	}
	walk(0, [4]int64{})
}

func TestGrid_break(t *testing.T) {
	g, err := ndarray.NewGrid([]int64{1 << 60}, []int64{1})
	require.NoError(t, err)
	n := 0
	for range g.All() {
		if n++; n == 3 {
			break
		}
	}
	require.Equal(t, 3, n)
}

func TestGridRefuses(t *testing.T) {
	for _, c := range [][2][]int64{
		{{4}, {0}}, {{4}, {-1}}, {{4}, {1, 1}}, {{4, 4}, {1}}, {{-1}, {1}}, {{}, {1}}, {{1 << 40, 1 << 40}, {1, 1}},
	} {
		_, err := ndarray.NewGrid(c[0], c[1])
		require.ErrorIs(t, err, ndarray.ErrShape, "%v", c)
	}
}
