// Tests of variables: axes, flags, warnings, boundaries, searches, and concurrent use.

package cf_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// forest is a tree in memory.
type forest map[string]ndarray.Spec

func (f forest) Open(_ context.Context, path string) (*ndarray.Array, error) {
	spec, ok := f[path]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ndarray.ErrNotFound, path)
	}
	return inMemory(spec)
}

func (f forest) GroupAttrs(context.Context, string) (ndarray.Attrs, error) {
	return ndarray.Attrs{}, errors.ErrUnsupported
}

// inMemory returns a new array in memory.
func inMemory(s ndarray.Spec) (*ndarray.Array, error) {
	b, err := mem.New(s)
	if err != nil {
		return nil, err
	}
	return ndarray.New(b)
}

// spec returns the Spec of an array of float64 with attributes: pairs of a name and a value.
func spec(shape []int64, axes []string, attrs ...any) ndarray.Spec {
	s := ndarray.Spec{Shape: shape, AxisNames: axes, DType: ndarray.DTypeOf[float64]()}
	for i := 0; i < len(attrs); i += 2 {
		v, ok := attrs[i+1].(ndarray.Value)
		if !ok {
			v = ndarray.Text(attrs[i+1].(string))
		}
		s.Attrs = append(s.Attrs, ndarray.Attr{Name: attrs[i].(string), Value: v})
	}
	return s
}

// of returns the variable of an array in memory with elements and attributes.
func of[T ndarray.Element](t *testing.T, elements []T, attrs ...any) *cf.Variable {
	s := spec([]int64{int64(len(elements))}, nil, attrs...)
	s.DType = ndarray.DTypeOf[T]()
	arr, err := inMemory(s)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(t.Context(), arr, elements, ndarray.Whole(s.Shape)))
	v, err := cf.New(t.Context(), arr, nil, "v")
	require.NoError(t, err)
	return v
}

func TestVariable_Axis(t *testing.T) {
	for name, c := range map[string]struct {
		attrs          []any
		axis, positive string
		warnings       int
	}{
		"none":                     {nil, "", "", 0},
		"attribute":                {[]any{"axis", "x", "units", "degrees_north"}, "X", "", 0},
		"latitude":                 {[]any{"units", "degrees_N"}, "Y", "", 0},
		"longitude":                {[]any{"units", "degreeE"}, "X", "", 0},
		"degrees only":             {[]any{"units", "degrees"}, "", "", 0},
		"rotated":                  {[]any{"units", "degrees", "standard_name", "grid_latitude"}, "Y", "", 0},
		"projection":               {[]any{"units", "m", "standard_name", "projection_x_coordinate"}, "X", "", 0},
		"time":                     {[]any{"units", "hours since 2000-01-01"}, "T", "", 0},
		"time in another calendar": {[]any{"units", "hours since 2000-01-01", "calendar", "lunar", "standard_name", "time"}, "T", "", 1},
		"pressure":                 {[]any{"units", "hPa"}, "Z", "down", 0},
		"pressure above":           {[]any{"units", "hPa", "positive", "Up"}, "Z", "up", 0},
		"depth":                    {[]any{"units", "m", "standard_name", "depth"}, "Z", "down", 0},
		"height":                   {[]any{"units", "m", "standard_name", "height"}, "Z", "up", 0},
		"positive":                 {[]any{"units", "m", "positive", "down"}, "Z", "down", 0},
		"wrong axis":               {[]any{"axis", "N", "units", "degrees_east"}, "X", "", 1},
		"wrong direction":          {[]any{"positive", "north"}, "", "", 1},
		"units of another type":    {[]any{"units", ndarray.Scalar(1.0)}, "", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := of(t, []float64{1}, c.attrs...)
			require.Equal(t, []string{c.axis, c.positive}, []string{v.Axis, v.Positive})
			require.Len(t, v.Warnings(), c.warnings)
		})
	}
}

func TestVariable_Direction(t *testing.T) {
	direction := func(v *cf.Variable) int {
		d, err := v.Direction(t.Context())
		require.NoError(t, err)
		return d
	}
	require.Equal(t, 1, direction(of(t, []float64{-1, 0, 5})))
	require.Equal(t, -1, direction(of(t, []float32{90, 0, -90})))
	require.Equal(t, -1, direction(of(t, []int16{1, 2, 3}, "scale_factor", ndarray.Scalar(-0.5))))
	require.Equal(t, 1, direction(of(t, []int64{1 << 62, 1<<62 + 1, 1<<62 + 2})), "exact")
	require.Equal(t, -1, direction(of(t, []uint64{math.MaxUint64, math.MaxUint64 - 1})))
	for name, v := range map[string]*cf.Variable{
		"equal":   of(t, []float64{1, 1}),
		"turn":    of(t, []float64{1, 2, 1}),
		"NaN":     of(t, []float64{1, math.NaN(), 3}),
		"missing": of(t, []float64{1, 2, 3}, "_FillValue", ndarray.Scalar(2.0)),
		"one":     of(t, []float64{1}),
		"bool":    of(t, []bool{false, true}),
	} {
		require.Zero(t, direction(v), name)
	}
}

func TestVariable_Meanings(t *testing.T) {
	values := of(t, []int8{0}, "flag_meanings", "good bad", "flag_values", ndarray.Vector[int8](1, -2))
	require.Equal(t, []string{"bad"}, values.Meanings([]byte{0xfe}))
	require.Empty(t, values.Meanings([]byte{3}))
	require.Empty(t, values.Meanings([]byte{1, 0}))
	masks := of(t, []uint8{0}, "flag_meanings", "a b c", "flag_masks", ndarray.Vector[uint8](1, 2, 12))
	require.Equal(t, []string{"a", "c"}, masks.Meanings([]byte{13}))
	both := of(t, []int16{0}, "flag_meanings", "day night cloud", "flag_masks", ndarray.Vector[int16](3, 3, 12), "flag_values", ndarray.Vector[int16](1, 2, 4))
	require.Equal(t, []string{"night", "cloud"}, both.Meanings([]byte{6, 0}))
	for name, attrs := range map[string][]any{
		"no values":      {"flag_meanings", "a b"},
		"one value":      {"flag_meanings", "a b", "flag_values", ndarray.Vector[int8](1)},
		"text":           {"flag_meanings", "a b", "flag_values", "1 2"},
		"not an element": {"flag_meanings", "a b", "flag_values", ndarray.Vector(1, 300.0)},
		"number":         {"flag_meanings", ndarray.Scalar(1.0)},
	} {
		v := of(t, []int8{0}, attrs...)
		require.Nil(t, v.Flags, name)
		require.Len(t, v.Warnings(), 1, name)
		require.Empty(t, v.Meanings([]byte{1}))
	}
	require.Len(t, of(t, []float64{0}, "flag_meanings", "a", "flag_values", ndarray.Vector(1.0)).Warnings(), 1)
}

// TestVariable_Coords_search checks the search of names (section 2.7.1).
func TestVariable_Coords_search(t *testing.T) {
	one := func(axis string) ndarray.Spec { return spec([]int64{3}, []string{axis}) }
	for name, c := range map[string]struct {
		tree     forest
		want     []string
		warnings int
	}{
		"same group":       {forest{"/a/b/v": spec([]int64{3}, []string{"x"}), "/a/b/x": one("x"), "/a/x": one("x")}, []string{"/a/b/x"}, 0},
		"group above":      {forest{"/a/b/v": spec([]int64{3}, []string{"x"}), "/x": one("x")}, []string{"/x"}, 0},
		"other length":     {forest{"/a/b/v": spec([]int64{3}, []string{"x"}), "/a/x": spec([]int64{4}, nil), "/x": one("x")}, []string{"/x"}, 0},
		"placeholder":      {forest{"/a/v": spec([]int64{3}, []string{"x"}), "/a/x": spec([]int64{3}, nil, "CLASS", "DIMENSION_SCALE", "NAME", "This is a netCDF dimension but not a netCDF variable.         3"), "/x": one("x")}, nil, 0},
		"absolute":         {forest{"/a/v": spec([]int64{3}, []string{"d"}, "coordinates", "/c/x"), "/c/x": one("d"), "/a/x": one("d")}, []string{"/c/x"}, 0},
		"relative":         {forest{"/a/v": spec([]int64{3}, []string{"d"}, "coordinates", "../c/x c/y"), "/c/x": one("d"), "/a/c/y": one("d")}, []string{"/c/x", "/a/c/y"}, 0},
		"above the root":   {forest{"/v": spec([]int64{3}, []string{"d"}, "coordinates", "../../x"), "/x": one("d")}, []string{"/x"}, 0},
		"proximity":        {forest{"/a/v": spec([]int64{3}, []string{"d"}, "coordinates", "x"), "/x": one("d")}, []string{"/x"}, 0},
		"missing":          {forest{"/v": spec([]int64{3}, []string{"d"}, "coordinates", "x y"), "/y": one("d")}, []string{"/y"}, 1},
		"other dimension":  {forest{"/v": spec([]int64{3}, []string{"d"}, "coordinates", "x"), "/x": one("e")}, nil, 1},
		"scalar":           {forest{"/v": spec([]int64{3}, []string{"d"}, "coordinates", "x"), "/x": spec(nil, nil)}, []string{"/x"}, 0},
		"cycle":            {forest{"/v": spec([]int64{3}, []string{"d"}, "coordinates", "x v"), "/x": spec([]int64{3}, []string{"d"}, "coordinates", "v x")}, []string{"/x", "/v"}, 0},
		"twice":            {forest{"/v": spec([]int64{3}, []string{"x"}, "coordinates", "x x y y"), "/x": one("x"), "/y": one("x")}, []string{"/x", "/y"}, 0},
		"names of one":     {forest{"/v": spec([]int64{3, 4}, []string{"a", "b"}, "coordinates", "x"), "/x": spec([]int64{3, 4}, nil)}, []string{"/x"}, 0},
		"ambiguous length": {forest{"/v": spec([]int64{3, 3}, nil, "coordinates", "x"), "/x": spec([]int64{3}, nil)}, nil, 1},
		"no names":         {forest{"/v": spec([]int64{3, 4}, nil, "coordinates", "x"), "/x": spec([]int64{4}, nil)}, []string{"/x"}, 0},
		"too many names":   {forest{"/v": spec([]int64{3}, nil, "coordinates", strings.Repeat("x ", 1001)), "/x": spec(nil, nil)}, []string{"/x"}, 1},
		"number":           {forest{"/v": spec([]int64{3}, nil, "coordinates", ndarray.Scalar(1.0))}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var start string
			for p := range c.tree {
				if path.Base(p) == "v" {
					start = p
				}
			}
			v, err := cf.Open(t.Context(), c.tree, start)
			require.NoError(t, err)
			list, err := v.Coords(t.Context())
			require.NoError(t, err)
			var got []string
			for _, x := range list {
				got = append(got, x.Path)
			}
			require.Equal(t, c.want, got)
			require.Len(t, v.Warnings(), c.warnings)
			require.NoError(t, v.Close())
		})
	}
}

func TestVariable_Coords_labels(t *testing.T) {
	label := spec([]int64{3, 8}, []string{"station", "letters"})
	label.DType = ndarray.DType{Kind: ndarray.Bytes, Size: 1, Order: ndarray.NoOrder}
	v, err := cf.Open(t.Context(), forest{"/v": spec([]int64{2, 3}, []string{"time", "station"}, "coordinates", "name"), "/name": label}, "/v")
	require.NoError(t, err)
	list, err := v.Coords(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, []int{1}, list[0].Dims)
	require.False(t, list[0].Dimension)
	require.NoError(t, v.Close())
}

func TestVariable_Bounds(t *testing.T) {
	tree := forest{
		"/time":   spec([]int64{3}, nil, "units", "days since 2000-01-01", "calendar", "noleap", "bounds", "time_b"),
		"/time_b": spec([]int64{3, 2}, nil, "calendar", "360_day"),
		"/clim":   spec([]int64{3}, nil, "units", "days since 2000-01-01", "climatology", "/time_b"),
		"/wrong":  spec([]int64{4}, nil, "bounds", "time_b"),
		"/absent": spec([]int64{3}, nil, "bounds", "nowhere"),
		"/plain":  spec([]int64{3}, nil),
	}
	for name, want := range map[string]struct {
		calendar string
		warnings int
	}{"/time": {"360_day", 0}, "/clim": {"360_day", 0}, "/wrong": {"", 1}, "/absent": {"", 1}, "/plain": {"", 0}} {
		v, err := cf.Open(t.Context(), tree, name)
		require.NoError(t, err)
		b, err := v.Bounds(t.Context())
		require.NoError(t, err)
		require.Len(t, v.Warnings(), want.warnings, name)
		if want.calendar == "" {
			require.Nil(t, b, name)
		} else {
			require.Equal(t, []string{"days since 2000-01-01", want.calendar}, []string{b.Units, b.Calendar})
			require.True(t, b.IsTime())
		}
		require.NoError(t, v.Close())
	}
}

func TestVariable_Times(t *testing.T) {
	whole := func(v *cf.Variable) ndarray.Region { return ndarray.Whole(v.Array.Shape()) }
	v := of(t, []int64{0, 1, -9}, "units", "nanoseconds since 1970-01-01", "_FillValue", ndarray.Scalar[int64](-9))
	times, err := v.Times(t.Context(), whole(v))
	require.NoError(t, err)
	require.Equal(t, []time.Time{time.Unix(0, 0).UTC(), time.Unix(0, 1).UTC(), {}}, times)
	v = of(t, []int32{0}, "units", "days since 2000-02-30", "calendar", "360_day")
	_, err = v.Times(t.Context(), whole(v))
	require.ErrorIs(t, err, ndarray.ErrValue)
	list, err := v.Dates(t.Context(), whole(v))
	require.NoError(t, err)
	require.Equal(t, []cf.Date{{Year: 2000, Month: 2, Day: 30}}, list)
	v = of(t, []int32{-1}, "units", "days since 0001-01-01", "calendar", "standard")
	_, err = v.Times(t.Context(), whole(v))
	require.ErrorContains(t, err, "years before 1")
	v = of(t, []int32{0}, "units", "m")
	_, err = v.Dates(t.Context(), whole(v))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	v = of(t, []float64{1}, "units", "days since 2000-02-29", "calendar", "noleap")
	_, err = v.Dates(t.Context(), whole(v))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = v.Values(&cf.ValueOptions{Dates: true})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	v = of(t, []float64{1}, "units", "days since 2000-01-01")
	_, err = v.Dates(t.Context(), ndarray.Region{Start: []int64{0}, Shape: []int64{2}})
	require.ErrorIs(t, err, ndarray.ErrRegion)
}

func TestVariable_Values(t *testing.T) {
	t.Run("marks", func(t *testing.T) {
		v := of(t, []int16{1, -1, 3}, "_FillValue", ndarray.Scalar[int16](-1), "scale_factor", ndarray.Scalar(float32(0.5)))
		arr, err := v.Values(nil)
		require.NoError(t, err)
		require.Same(t, v, cf.Of(arr))
		require.Nil(t, cf.Of(v.Array))
		got, err := ndarray.ReadAll[float32](t.Context(), arr)
		require.NoError(t, err)
		require.Equal(t, []float32{0.5, 1.5}, []float32{got[0], got[2]})
		require.True(t, got[1] != got[1])
		view, err := ndarray.View(arr, ndarray.Select(ndarray.From(1)))
		require.NoError(t, err)
		nulls := make([]bool, 2)
		require.NoError(t, view.ReadNulls(t.Context(), nulls, ndarray.Whole(view.Shape())))
		require.Equal(t, []bool{true, false}, nulls)
		for _, a := range []*ndarray.Array{arr, view} {
			sum, err := ndarray.Summarize(t.Context(), a, nil)
			require.NoError(t, err)
			require.Equal(t, []float64{float64(a.NumElems() - 1), 1, 1.5}, []float64{float64(sum.Count), float64(sum.NaNs), sum.Max})
		}
	})
	t.Run("default fill value", func(t *testing.T) {
		s := spec([]int64{2}, nil)
		s.DType, s.Fill = ndarray.DTypeOf[int32](), []byte{1, 0, 0, 128}
		arr, err := inMemory(s)
		require.NoError(t, err)
		v, err := cf.New(t.Context(), arr, nil, "/")
		require.NoError(t, err)
		values, err := v.Values(nil)
		require.NoError(t, err)
		n, err := ndarray.CountNulls(t.Context(), values)
		require.NoError(t, err)
		require.Equal(t, int64(2), n)
		require.Equal(t, "-2147483647 is missing (default fill value of netCDF)", v.Describe(nil))
	})
	t.Run("strings", func(t *testing.T) {
		s := spec([]int64{1}, nil, "units", "days since 2000-01-01", "scale_factor", ndarray.Scalar(2.0))
		s.DType = ndarray.Text("").DType
		arr, err := inMemory(s)
		require.NoError(t, err)
		v, err := cf.New(t.Context(), arr, nil, "/")
		require.NoError(t, err)
		values, err := v.Values(&cf.ValueOptions{Dates: true, Float: true})
		require.NoError(t, err)
		require.Equal(t, ndarray.String, values.DType().Kind)
		_, err = v.Formatter(t.Context(), ndarray.Whole(s.Shape))
		require.ErrorIs(t, err, ndarray.ErrType)
		require.Empty(t, v.Describe(nil))
	})
}

// TestVariable_formats checks that a variable has the same meaning in each format.
func TestVariable_formats(t *testing.T) {
	dir := t.TempDir()
	attrs := []ndarray.Attr{
		{Name: "_FillValue", Value: ndarray.Scalar[int16](-1)}, {Name: "scale_factor", Value: ndarray.Scalar(0.25)},
		{Name: "units", Value: ndarray.Text("hours since 2020-01-01")}, {Name: "long_name", Value: ndarray.Text("ω")},
	}
	for _, name := range []string{"a.h5:/v", "a.b2nd", "a.bcolz"} {
		t.Run(name, func(t *testing.T) {
			location := path.Join(dir, name)
			s := ndarray.Spec{Shape: []int64{3}, DType: ndarray.DTypeOf[int16](), Attrs: attrs}
			d, err := hyperslab.Create(t.Context(), location, s, nil)
			require.NoError(t, err)
			require.NoError(t, ndarray.Write(t.Context(), d.Array, []int16{4, -1, 6}, ndarray.Whole(s.Shape)))
			require.NoError(t, d.Commit(t.Context()))
			arr, err := hyperslab.Open(t.Context(), location, nil)
			require.NoError(t, err)
			v, err := cf.New(t.Context(), arr, nil, "/v")
			require.NoError(t, err)
			require.Equal(t, []string{"ω", "T"}, []string{v.LongName, v.Axis})
			texts, err := v.Formatter(t.Context(), ndarray.Whole(s.Shape))
			require.NoError(t, err)
			require.Equal(t, []string{"2020-01-01T01:00:00.000000", "NaT", "2020-01-01T01:30:00.000000"}, []string{texts(0), texts(1), texts(2)})
			require.Empty(t, v.Warnings())
			require.NoError(t, errors.Join(v.Close(), arr.Close()))
		})
	}
}

// TestVariable_concurrent checks that any number of goroutines may use a variable.
func TestVariable_concurrent(t *testing.T) {
	tree := forest{"/v": spec([]int64{3}, []string{"x"}, "coordinates", "y z", "units", "days since 2000-01-01"), "/x": spec([]int64{3}, nil), "/y": spec(nil, nil)}
	v, err := cf.Open(t.Context(), tree, "/v")
	require.NoError(t, err)
	var wait sync.WaitGroup
	lists := make([][]cf.Coordinate, 16)
	for i := range lists {
		wait.Go(func() {
			lists[i], _ = v.Coords(t.Context())
			_, _ = v.Dates(t.Context(), ndarray.Whole([]int64{3}))
			_, _ = v.Bounds(t.Context())
			_ = v.Warnings()
		})
	}
	wait.Wait()
	for _, list := range lists {
		require.Len(t, list, 2)
		require.True(t, slices.EqualFunc(list, lists[0], func(a, b cf.Coordinate) bool { return a.Variable == b.Variable }))
	}
	require.Len(t, v.Warnings(), 1)
	require.NoError(t, v.Close())
}
