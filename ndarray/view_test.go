package ndarray_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// TestView_take checks that a view contains the elements that Take returns, for the whole view and
// for regions.
func TestView_take(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(selectionShapes).Draw(t, "shape")
		n, _ := grid.Product(shape)
		values := make([]int32, n)
		for i := range values {
			values[i] = int32(i)
		}
		var chunk []int64
		if len(shape) > 0 && rapid.Bool().Draw(t, "chunked") {
			for range shape {
				chunk = append(chunk, rapid.Int64Range(1, 3).Draw(t, "chunk"))
			}
		}
		a := fromSlice(t, shape, chunk, values)
		s := ndarray.Select(samples.DrawSelection(t, shape, true).Items...)
		want, err := ndarray.Take[int32](t.Context(), a, s)
		v, verr := ndarray.View(a, s)
		if err != nil {
			require.Error(t, verr)
			return
		}
		require.NoError(t, verr)
		defer func() { require.NoError(t, v.Close()) }()
		got, err := ndarray.ReadAll[int32](t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, want, append([]int32{}, got...))

		// Read it chunk by chunk, and store each chunk at its position.
		again := make([]int32, 0, len(want))
		for r := range v.ChunkRegions() {
			part := make([]int32, r.NumElems())
			require.NoError(t, ndarray.Read(t.Context(), v, part, r))
			again = append(again, part...)
		}
		require.ElementsMatch(t, want, again)
	})
}

func TestView_Points(t *testing.T) {
	a := fromSlice(t, []int64{3, 4}, nil, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	v, err := ndarray.View(a, ndarray.Points([]int64{2, 3}, []int64{0, 0}, []int64{1, -1}))
	require.NoError(t, err)
	got := make([]int32, 2)
	require.NoError(t, ndarray.Read(t.Context(), v, got, ndarray.Region{Start: []int64{1}, Shape: []int64{2}}))
	require.Equal(t, []int32{0, 7}, got)
}

// TestView_Strings checks views of string arrays.
func TestView_Strings(t *testing.T) {
	a := newMem(t, ndarray.Spec{Shape: []int64{3, 2}, DType: dtype(t, "string")})
	require.NoError(t, a.WriteStrings(t.Context(), []string{"a", "b", "c", "d", "e", "f"}, ndarray.Whole([]int64{3, 2})))
	for _, c := range []struct {
		s    ndarray.Selection
		want []string
	}{
		{ndarray.Select(ndarray.All().By(-2)), []string{"e", "f", "a", "b"}},
		{ndarray.Select(ndarray.All(), ndarray.At(1)), []string{"b", "d", "f"}},
		{ndarray.Select(ndarray.List(2, 2), ndarray.All().By(-1)), []string{"f", "e", "f", "e"}},
		{ndarray.Points([]int64{1, 1}, []int64{0, 0}), []string{"d", "a"}},
	} {
		v, err := ndarray.View(a, c.s)
		require.NoError(t, err)
		got := make([]string, len(c.want))
		require.NoError(t, v.ReadStrings(t.Context(), got, ndarray.Whole(v.Shape())), "%v", c.s)
		require.Equal(t, c.want, got, "%v", c.s)
	}
}

// TestViewMeta checks that a view has the metadata that also applies to the selected part, and no
// other metadata.
func TestViewMeta(t *testing.T) {
	a := newMem(t, ndarray.Spec{
		Shape: []int64{8, 6}, ChunkShape: []int64{4, 3}, AxisNames: []string{"time", "x"}, DType: dtype(t, "<f4"), Fill: []byte{0, 0, 128, 63},
		Attrs: []ndarray.Attr{{Name: "units", Value: ndarray.Text("m")}},
	})
	for _, c := range []struct {
		text  string
		shape []int64
		chunk []int64
		names []string
	}{
		{"[4:]", []int64{4, 6}, []int64{4, 3}, []string{"time", "x"}},
		{"[1]", []int64{6}, []int64{3}, []string{"x"}},
		{"[1:]", []int64{7, 6}, nil, []string{"time", "x"}},
		{"[None, :, 2]", []int64{1, 8}, []int64{1, 4}, []string{"", "time"}},
		{"[::2]", []int64{4, 6}, nil, []string{"time", "x"}},
		{"[0, 0]", []int64{}, nil, nil},
	} {
		s, err := ndarray.ParseSelection(c.text)
		require.NoError(t, err)
		v, err := ndarray.View(a, s)
		require.NoError(t, err)
		m := v.Meta()
		require.Equal(t, c.shape, append([]int64{}, m.Shape...), c.text)
		require.Equal(t, c.chunk, m.ChunkShape, c.text)
		require.Equal(t, c.names, m.AxisNames, c.text)
		require.Equal(t, c.text, m.Path)
		one, err := ndarray.ReadAll[float32](t.Context(), v)
		require.NoError(t, err)
		for _, x := range one {
			require.Equal(t, float32(1), x)
		}
		attrs, err := v.Attrs(t.Context())
		require.NoError(t, err)
		require.Len(t, attrs.List, 1)
	}
}

func TestViewRefuses(t *testing.T) {
	a := fromSlice(t, []int64{3}, nil, []int32{1, 2, 3})
	_, err := ndarray.View(a, ndarray.Select(ndarray.At(3)))
	require.ErrorIs(t, err, ndarray.ErrRegion)
	_, err = ndarray.View(newMem(t, ndarray.Spec{Null: true, DType: dtype(t, "<f4")}), ndarray.Selection{})
	require.ErrorIs(t, err, ndarray.ErrRegion)

	v, err := ndarray.View(a, ndarray.Select(ndarray.From(1)))
	require.NoError(t, err)
	require.ErrorIs(t, v.Write(t.Context(), make([]byte, 8), ndarray.Whole([]int64{2})), errors.ErrUnsupported)
	require.ErrorIs(t, v.Read(t.Context(), make([]byte, 7), ndarray.Whole([]int64{2})), ndarray.ErrSize)
	require.NoError(t, v.Close())
	require.ErrorIs(t, v.Close(), ndarray.ErrClosed)
	v, err = ndarray.View(a, ndarray.Selection{})
	require.NoError(t, err)
	require.NoError(t, a.Close(), "the array is the caller's, and a view does not keep it")
	require.ErrorIs(t, v.Read(t.Context(), make([]byte, 12), ndarray.Whole([]int64{3})), ndarray.ErrClosed)
}

// A view is an array, so every function for arrays also works on a selected part.
func ExampleView() {
	ctx := context.Background()
	b, err := mem.New(ndarray.Spec{Shape: []int64{2, 3}, DType: ndarray.DTypeOf[int32]()})
	if err != nil {
		log.Fatal(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if err := ndarray.Write(ctx, a, []int32{1, 2, 3, 4, 5, 6}, ndarray.Whole(a.Shape())); err != nil {
		log.Fatal(err)
	}

	s, err := ndarray.ParseSelection("[:, ::-2]")
	if err != nil {
		log.Fatal(err)
	}
	v, err := ndarray.View(a, s)
	if err != nil {
		log.Fatal(err)
	}
	sum, err := ndarray.Summarize(ctx, v, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Shape(), sum.Max, sum.Mean)
	// Output: [2 2] 6 3.5
}

// TestCopy_viewOfChunks copies views whose chunks can be copied without recompression, and views
// with other chunk boundaries.
func TestCopy_viewOfChunks(t *testing.T) {
	shape, chunk := []int64{10, 9}, []int64{4, 3}
	spec := ndarray.Spec{Shape: shape, ChunkShape: chunk, DType: ndarray.DTypeOf[int32]()}
	values := make([]int32, 90)
	for i := range values {
		values[i] = int32(i)
	}
	src, err := b2nd.Create(t.TempDir()+"/a.b2nd", spec, nil)
	require.NoError(t, err)
	a, err := ndarray.New(src)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	require.NoError(t, ndarray.Write(t.Context(), a, values, ndarray.Whole(shape)))
	for _, test := range []struct {
		name   string
		s      string
		passed int64
	}{
		{"all", "[:]", 9},
		{"first rows", "[:4]", 3},
		{"last rows", "[4:, 3:]", 4},
		{"inner chunk", "[4:8, 3:6]", 1},
		{"end inside a chunk", "[:6]", 0},
		{"start inside a chunk", "[1:5]", 0},
		{"strided", "[::2]", 0},
		{"one row", "[4]", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := ndarray.ParseSelection(test.s)
			require.NoError(t, err)
			v, err := ndarray.View(a, s)
			require.NoError(t, err)
			spec := v.Meta().Spec()
			if len(spec.Shape) == 2 {
				spec.ChunkShape, spec.BlockShape = chunk, a.Meta().BlockShape
			}
			to, err := b2nd.Create(t.TempDir()+"/b.b2nd", spec, nil)
			require.NoError(t, err)
			b, err := ndarray.New(to)
			require.NoError(t, err)
			defer func() { require.NoError(t, b.Close()) }()
			stats, err := ndarray.Copy(t.Context(), b, v, nil)
			require.NoError(t, err)
			require.Equal(t, test.passed, stats.Passed)
			want, err := ndarray.ReadAll[int32](t.Context(), v)
			require.NoError(t, err)
			got, err := ndarray.ReadAll[int32](t.Context(), b)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}
