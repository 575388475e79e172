package ndarray_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestParseSelection(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "[]"}, {"[]", "[]"}, {" [ ] ", "[]"}, {"0", "[0]"}, {"[-1]", "[-1]"}, {"[ 0 , 10:20, ::-1 ]", "[0, 10:20, ::-1]"},
		{"[:, ::, ::1, 1:, :1, 1::2]", "[:, :, :, 1:, :1, 1::2]"}, {"[..., None, newaxis]", "[..., None, None]"},
		{"[[1, 2, -3]]", "[[1, 2, -3]]"}, {"[1, 2], [3]", "[[1, 2], [3]]"}, {"[[], 1]", "[[], 1]"}, {"[[True, False]]", "[[True, False]]"},
		{"[1,]", "[1]"}, {"[+3]", "[3]"}, {"[9223372036854775807, -9223372036854775808:]", "[9223372036854775807, -9223372036854775808:]"},
	} {
		s, err := ndarray.ParseSelection(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, s.String(), c.text)
	}
}

func TestParseSelectionRefuses(t *testing.T) {
	for _, text := range []string{
		",", "[,]", "[1,,2]", "[1", "1]", "[a]", "[1.5]", "[0x10]", "[1:2:3:4]", "[::0]", "[[1, a]]", "[[1, True]]", "[[[1]]]", "[1 2]", "[(1, 2)]",
		"[9223372036854775808]", "[1:9223372036854775808]", "[True]", "[1_000]", "[- 1]", "[1]]", "[[1]",
	} {
		_, err := ndarray.ParseSelection(text)
		require.ErrorIs(t, err, ndarray.ErrParam, text)
		require.ErrorContains(t, err, strings.TrimSpace(text), text)
	}
}

func FuzzParseSelection(f *testing.F) {
	for _, s := range []string{"[0, 10:20, ::-1]", "[..., None]", "[[1, 2], [True]]", "1:2:3", "[", "]", "[[]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ndarray.ParseSelection(text)
		if err != nil {
			require.ErrorIs(t, err, ndarray.ErrParam)
			return
		}
		again, err := ndarray.ParseSelection(s.String())
		require.NoError(t, err, s.String())
		require.Equal(t, s.String(), again.String())
		if shape, err := s.Shape([]int64{3, 0, 1 << 40}); err == nil {
			require.NoError(t, grid.Check(shape, 1))
		}
	})
}

// TestSelectionErrors checks that errors contain the axis, the index and the length.
func TestSelectionErrors(t *testing.T) {
	a := fromSlice(t, []int64{3, 4}, nil, make([]int32, 12))
	for _, c := range []struct {
		s    ndarray.Selection
		want error
		says string
	}{
		{ndarray.Select(ndarray.At(3)), ndarray.ErrRegion, "axis 0: index 3, axis has 3"},
		{ndarray.Select(ndarray.All(), ndarray.At(-5)), ndarray.ErrRegion, "axis 1: index -5, axis has 4"},
		{ndarray.Select(ndarray.Ellipsis(), ndarray.List(0, 4)), ndarray.ErrRegion, "axis 1: index 4, axis has 4"},
		{ndarray.Select(ndarray.Mask(true, false)), ndarray.ErrRegion, "axis 0: mask of 2, axis has 3"},
		{ndarray.Select(ndarray.At(0), ndarray.At(0), ndarray.At(0)), ndarray.ErrRegion, "3 indexes, array has 2 axes"},
		{ndarray.Select(ndarray.Ellipsis(), ndarray.Ellipsis()), ndarray.ErrParam, "2 ellipses"},
		{ndarray.Select(ndarray.All().By(0)), ndarray.ErrParam, "axis 0: step 0"},
		{ndarray.Points([]int64{0, 0}, []int64{0}), ndarray.ErrRegion, "point 1 has 1 coordinates, array has 2 axes"},
		{ndarray.Points([]int64{0, 0}, []int64{0, 4}), ndarray.ErrRegion, "point 1: out of range: axis 1: index 4, axis has 4"},
		{ndarray.Where(make([]bool, 11)), ndarray.ErrRegion, "mask of 11, array [3 4] has 12 elements"},
		{ndarray.Select(slices.Repeat([]ndarray.Index{ndarray.NewAxis()}, 31)...), ndarray.ErrShape, "33 axes, at most 32"},
	} {
		err := a.Take(t.Context(), nil, c.s)
		require.ErrorIs(t, err, c.want, "%v", c.s)
		require.ErrorContains(t, err, c.says, "%v", c.s)
		err = a.Put(t.Context(), nil, c.s)
		require.ErrorIs(t, err, c.want, "%v", c.s)
	}
	_, err := ndarray.Select(ndarray.List(make([]int64, 1<<10)...), ndarray.All(), ndarray.All()).Shape([]int64{1, 1 << 30, 1 << 31})
	require.ErrorIs(t, err, ndarray.ErrShape, "the product is checked by arithmetic")
	err = newMem(t, ndarray.Spec{Null: true, DType: ndarray.DTypeOf[int32]()}).Take(t.Context(), nil, ndarray.Selection{})
	require.ErrorIs(t, err, ndarray.ErrRegion)
}

// TestSelection_numpy checks that a selection in text form selects the same elements as in NumPy,
// and is rejected if NumPy rejects it.
func TestSelection_numpy(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) samples.Drawn {
		return samples.DrawSelection(t, rapid.SampledFrom(selectionShapes).Draw(t, "shape"), true)
	})
	shapeOf := rapid.Custom(func(t *rapid.T) []int64 { return rapid.SampledFrom(selectionShapes).Draw(t, "shape") })
	var cases [][2]any
	for seed := range 600 {
		items := []string{}
		for _, x := range gen.Example(seed).Items {
			text := strings.TrimSuffix(strings.TrimPrefix(ndarray.Select(x).String(), "["), "]")
			if strings.HasSuffix(text, "-9223372036854775808") {
				text = strings.ReplaceAll(text, "-9223372036854775808", "-9223372036854775807")
			}
			items = append(items, text)
		}
		cases = append(cases, [2]any{shapeOf.Example(seed), items})
	}
	var answers []struct {
		Error string
		Shape []int64
		Items []int64
	}
	oracle(t, "selections", map[string]any{"cases": cases}, &answers)
	require.Len(t, answers, len(cases))
	refused, steps := 0, 0
	for i, c := range cases {
		shape, text := c[0].([]int64), "["+strings.Join(c[1].([]string), ", ")+"]"
		n, _ := grid.Product(shape)
		values := make([]int64, n)
		for k := range values {
			values[k] = int64(k)
		}
		a := fromSlice(t, shape, nil, values)
		s, err := ndarray.ParseSelection(text)
		require.NoError(t, err, text)
		got, err := s.Shape(shape)
		if answers[i].Error != "" {
			require.ErrorIs(t, err, ndarray.ErrRegion, "%s of %v: NumPy prints %s", text, shape, answers[i].Error)
			refused++
			continue
		}
		require.NoError(t, err, "%s of %v", text, shape)
		require.Equal(t, answers[i].Shape, got, "%s of %v", text, shape)
		taken, err := ndarray.Take[int64](t.Context(), a, s)
		require.NoError(t, err)
		require.Equal(t, answers[i].Items, taken, "%s of %v", text, shape)
		start, count, step, err := s.Steps(shape)
		if strings.Contains(text, "[[") || strings.Contains(text, ", [") || strings.Contains(text, "None") {
			require.ErrorIs(t, err, errors.ErrUnsupported, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, answers[i].Items, stepped(values, shape, start, count, step), "%s of %v", text, shape)
		steps++
	}
	require.Greater(t, refused, 50)
	require.Less(t, refused, 550)
	require.Greater(t, steps, 50)
	for _, s := range []ndarray.Selection{ndarray.Points([]int64{1}), ndarray.Where([]bool{true, false, true})} {
		_, _, _, err := s.Steps([]int64{3})
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
}

// stepped returns the elements of values that start, count and step select along each axis.
func stepped(values, shape, start, count, step []int64) []int64 {
	if len(shape) == 0 {
		return values[:1]
	}
	inner, _ := grid.Product(shape[1:])
	out := []int64{}
	for i := range count[0] {
		at := (start[0] + i*step[0]) * inner
		out = append(out, stepped(values[at:at+inner], shape[1:], start[1:], count[1:], step[1:])...)
	}
	return out
}

// TestPoints_numpy checks that points and masks over all axes read and replace the same elements as
// in NumPy. The points include negative indexes and duplicates.
func TestPoints_numpy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	type points struct {
		shape []int64
		at    [][]int64
		mask  []bool
	}
	var cases []points
	var questions [][3]any
	for i := range 200 {
		c := points{shape: [][]int64{{7}, {4, 3}, {3, 4, 5}, {2, 2, 2, 3}}[i%4], at: [][]int64{}}
		for range r.IntN(9) {
			p := make([]int64, len(c.shape))
			for d, n := range c.shape {
				p[d] = r.Int64N(2*n) - n
			}
			c.at = append(c.at, p)
		}
		n, _ := grid.Product(c.shape)
		for range n {
			c.mask = append(c.mask, r.IntN(3) == 0)
		}
		cases = append(cases, c)
		questions = append(questions, [3]any{c.shape, c.at, c.mask})
	}
	var answers []struct{ Points, Where, After []int64 }
	oracle(t, "points", map[string]any{"cases": questions}, &answers)
	require.Len(t, answers, len(cases))
	for i, c := range cases {
		values := make([]int64, len(c.mask))
		for k := range values {
			values[k] = int64(k)
		}
		a := fromSlice(t, c.shape, nil, values)
		at, where := ndarray.Points(c.at...), ndarray.Where(c.mask)
		got, err := ndarray.Take[int64](t.Context(), a, at)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, answers[i].Points, got, "%+v", c)
		put := make([]int64, len(got))
		for k := range put {
			put[k] = -1 - int64(k)
		}
		got, err = ndarray.Take[int64](t.Context(), a, where)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, answers[i].Where, got, "%+v", c)
		require.NoError(t, ndarray.Put(t.Context(), a, put, at))
		for k := range got {
			got[k] = 1000 + int64(k)
		}
		require.NoError(t, ndarray.Put(t.Context(), a, got, where))
		after, err := ndarray.ReadAll[int64](t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, answers[i].After, after, "%+v", c)
	}
}

var selectionShapes = [][]int64{{}, {1}, {5}, {0}, {4, 3}, {2, 0, 3}, {3, 4, 5}, {2, 2, 2, 3}}

// TestTake_hugeShape checks that a huge step and an array larger than any memory do not lead to
// large results.
func TestTake_hugeShape(t *testing.T) {
	for _, text := range []string{"[::9223372036854775807]", "[5:4]", "[-1]", "[[0, -1]]", "[::1000000000000]"} {
		s, err := ndarray.ParseSelection(text)
		require.NoError(t, err)
		shape, err := s.Shape([]int64{math.MaxInt64})
		require.NoError(t, err, text)
		n, ok := grid.Product(shape)
		require.True(t, ok)
		require.Less(t, n, int64(1e8), text)
	}
}
