package grid_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/grid"
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
		got, ok := grid.Product(dims)
		require.Equal(t, want.IsInt64(), ok, "%v", dims)
		if ok {
			require.Equal(t, want.Int64(), got, "%v", dims)
		}
	})
}

func TestProduct_negative(t *testing.T) {
	_, ok := grid.Product([]int64{3, -1})
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
		err := grid.Check(c.shape, c.size)
		if c.ok {
			require.NoError(t, err, "%v of %d", c.shape, c.size)
		} else {
			require.ErrorIs(t, err, errs.ErrShape, "%v of %d", c.shape, c.size)
		}
	}
}

func TestAutoChunk(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		size  int
		want  []int64
	}{
		{nil, 8, nil},
		{[]int64{0}, 8, []int64{1}},
		{[]int64{10, 0, 10}, 8, []int64{10, 1, 10}},
		{[]int64{1000}, 8, []int64{1000}},
		{[]int64{1 << 20}, 8, []int64{1 << 17}},
		{[]int64{1 << 40}, 1, []int64{1 << 20}},
		{[]int64{4096, 4096}, 4, []int64{512, 512}},
		{[]int64{365, 180, 360}, 4, []int64{46, 45, 90}},
		{[]int64{5}, 1 << 21, []int64{1}},
		{[]int64{1, 1, 1 << 22}, 4, []int64{1, 1, 1 << 18}},
		{[]int64{1 << 31, 1 << 31}, 8, []int64{256, 512}},
	} {
		require.Equal(t, c.want, grid.AutoChunk(c.shape, c.size), "%v of %d", c.shape, c.size)
	}
}

func TestAuto_bounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt32), 1, 4).Draw(t, "shape")
		size := rapid.IntRange(1, 1<<16).Draw(t, "size")
		chunk := grid.AutoChunk(shape, size)
		block := grid.AutoBlocks(chunk, size)
		for i := range shape {
			require.True(t, chunk[i] >= 1 && chunk[i] <= max(shape[i], 1))
			require.True(t, block[i] >= 1 && block[i] <= chunk[i])
		}
		for _, s := range []struct {
			shape  []int64
			target int64
		}{{chunk, grid.ChunkBytes}, {block, 1 << 17}} {
			n, ok := grid.Product(append(slices.Clone(s.shape), int64(size)))
			require.True(t, ok)
			require.LessOrEqual(t, n, s.target)
		}
	})
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
		g, err := grid.New(shape, chunk)
		require.NoError(t, err)
		seen := make(map[[4]int64]int)
		var last []int64
		n := int64(0)
		for r := range g.All() {
			n++
			require.True(t, inside(r, shape), "%v in %v", r, shape)
			require.NotZero(t, elements(r))
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
		total, _ := grid.Product(shape)
		require.Len(t, seen, int(total))
		for at, times := range seen {
			require.Equal(t, 1, times, "%v", at)
		}
	})
}

func eachIndex(r grid.Box, f func([4]int64)) {
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
	g, err := grid.New([]int64{1 << 60}, []int64{1})
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
		_, err := grid.New(c[0], c[1])
		require.ErrorIs(t, err, errs.ErrShape, "%v", c)
	}
}

// TestBox_Intersect checks that boxes whose ends overflow intersect correctly.
func TestBox_Intersect(t *testing.T) {
	t.Parallel()
	far := grid.Box{Start: []int64{math.MaxInt64 - 2}, Shape: []int64{math.MaxInt64}}
	for _, x := range []struct {
		other grid.Box
		want  []int64
	}{
		{grid.Box{Start: []int64{0}, Shape: []int64{math.MaxInt64}}, []int64{math.MaxInt64 - 2, 2}},
		{grid.Box{Start: []int64{1}, Shape: []int64{math.MaxInt64}}, []int64{math.MaxInt64 - 2, 3}},
		{grid.Box{Start: []int64{math.MaxInt64 - 1}, Shape: []int64{7}}, []int64{math.MaxInt64 - 1, 7}},
		{grid.Box{Start: []int64{0}, Shape: []int64{9}}, nil},
	} {
		for _, both := range [][2]grid.Box{{far, x.other}, {x.other, far}} {
			got, ok := both[0].Intersect(both[1])
			require.Equal(t, x.want != nil, ok, "%+v", x.other)
			if ok {
				require.Equal(t, x.want, []int64{got.Start[0], got.Shape[0]}, "%+v", x.other)
			}
		}
	}
}

func TestBox_Intersect_model(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		draw := func(label string) grid.Box {
			return grid.Box{
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

// inside reports whether a box lies in an array of the given shape.
func inside(b grid.Box, shape []int64) bool {
	for i, n := range shape {
		if b.Start[i] < 0 || b.Shape[i] < 0 || b.Start[i] > n || b.Shape[i] > n-b.Start[i] {
			return false
		}
	}
	return len(b.Start) == len(shape) && len(b.Shape) == len(shape)
}

func elements(b grid.Box) int64 {
	n, _ := grid.Product(b.Shape)
	return n
}

func TestBox_Index(t *testing.T) {
	r := grid.Box{Start: []int64{5, 0, 7}, Shape: []int64{2, 3, 4}}
	i := int64(0)
	for cell := range grid.Cut(r, nil, 1) {
		require.Equal(t, cell.Start, r.Index(i), "element %d", i)
		i++
	}
	require.EqualValues(t, 24, i)
	require.Empty(t, grid.Box{}.Index(0))
}
