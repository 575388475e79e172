package picture_test

import (
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// input returns an array in memory as an input.
func input[T ndarray.Element](t *testing.T, shape []int64, values []T, attrs ...ndarray.Attr) *picture.Input {
	t.Helper()
	b, err := mem.New(ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[T](), Attrs: attrs})
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	if len(values) > 0 {
		require.NoError(t, ndarray.Write(t.Context(), a, values, ndarray.Whole(shape)))
	}
	v, err := cf.New(t.Context(), a, nil, "/a")
	require.NoError(t, err)
	return &picture.Input{Name: "a", Variable: v}
}

func TestDraw_values(t *testing.T) {
	fill := ndarray.Attr{Name: "_FillValue", Value: ndarray.Scalar(int16(-1))}
	scale := ndarray.Attr{Name: "scale_factor", Value: ndarray.Scalar(0.5)}
	units := ndarray.Attr{Name: "units", Value: ndarray.Text("m")}
	in := input(t, []int64{2, 2}, []int16{0, 2, -1, 4}, fill, scale, units)
	p, err := picture.Draw(t.Context(), in, &picture.Options{})
	require.NoError(t, err)
	require.Equal(t, []any{"heatmap", "a", "m", 0.0, 2.0, true}, []any{p.Kind, p.Title, p.Label, p.Low, p.High, p.Missing})
	img := p.Raster(2, 2)
	require.Equal(t, color.RGBA{0x44, 0x01, 0x54, 255}, img.RGBAAt(0, 0))
	require.Equal(t, color.RGBA{0xc2, 0xbd, 0xb4, 255}, img.RGBAAt(0, 1), "missing")
	require.Equal(t, color.RGBA{0xfd, 0xe7, 0x25, 255}, img.RGBAAt(1, 1))
	raw, err := picture.Draw(t.Context(), in, &picture.Options{Look: picture.Look{Raw: true}})
	require.NoError(t, err)
	require.Equal(t, []any{"stored values", -1.0, 4.0, false}, []any{raw.Label, raw.Low, raw.High, raw.Missing})
	turned, err := picture.Draw(t.Context(), in, &picture.Options{Look: picture.Look{Transpose: true}})
	require.NoError(t, err)
	require.Equal(t, color.RGBA{0xc2, 0xbd, 0xb4, 255}, turned.Raster(2, 2).RGBAAt(1, 0))
}

// TestDraw_complex draws the parts of complex numbers.
func TestDraw_complex(t *testing.T) {
	in := input(t, []int64{3}, []complex128{3 + 4i, -1, complex(math.NaN(), 0)})
	for part, want := range map[string][2]float64{"": {1, 5}, picture.Real: {-1, 3}, picture.Imaginary: {0, 4}, picture.Phase: {-math.Pi, math.Pi}} {
		p, err := picture.Draw(t.Context(), in, &picture.Options{Look: picture.Look{Part: part}})
		require.NoError(t, err)
		require.Equal(t, want, [2]float64{p.Low, p.High}, part)
		require.Equal(t, part != picture.Imaginary, math.IsNaN(p.Lines[0].Low[2]), "a gap")
	}
}

// TestDraw_image draws channels as colours, with opacity in front of white.
func TestDraw_image(t *testing.T) {
	values := make([]uint8, 8*8*4)
	for i := range 64 {
		copy(values[4*i:], []uint8{255, 0, 102, 255})
	}
	copy(values[4:], []uint8{255, 0, 0, 51})
	in := input(t, []int64{8, 8, 4}, values)
	p, err := picture.Draw(t.Context(), in, &picture.Options{})
	require.NoError(t, err)
	require.Equal(t, picture.Image, p.Kind)
	require.Equal(t, color.RGBA{255, 0, 102, 255}, p.Raster(8, 8).RGBAAt(0, 0))
	require.Equal(t, color.RGBA{255, 204, 204, 255}, p.Raster(8, 8).RGBAAt(1, 0))
}

func TestDraw_unfit(t *testing.T) {
	heat, line := input(t, []int64{2, 3}, make([]int32, 6)), input(t, []int64{9}, make([]int32, 9))
	for want, x := range map[string]struct {
		in *picture.Input
		o  picture.Options
	}{
		"3 dimensions; a picture has one or two":      {input(t, []int64{2, 3, 4}, make([]int32, 24)), picture.Options{}},
		"has no elements":                             {input(t, []int64{0, 3}, []int32{}), picture.Options{}},
		"have no phase, want complex numbers":         {heat, picture.Options{Look: picture.Look{Part: picture.Phase}}},
		"panels are heat maps, images or lines":       {heat, picture.Options{Look: picture.Look{Kind: picture.Histogram, Panels: 2}}},
		"are for heat maps and lines":                 {heat, picture.Options{Look: picture.Look{Kind: picture.Histogram, Log: true}}},
		"only heat maps and images are transposed":    {line, picture.Options{Look: picture.Look{Transpose: true}}},
		"a picture of kind heatmap takes 2":           {line, picture.Options{Look: picture.Look{Kind: picture.Heatmap}}},
		"3 or 4 channels in the last dimension":       {input(t, []int64{2, 3, 5}, make([]uint8, 30)), picture.Options{Look: picture.Look{Kind: picture.Image}}},
		"needs 6 elements, the limit is 5":            {heat, picture.Options{Limit: 5}},
		"panels of kind heatmap take 3":               {heat, picture.Options{Look: picture.Look{Kind: picture.Heatmap, Panels: 2}}},
		"another array adds a curve":                  {heat, picture.Options{With: []picture.Input{*line}}},
		"a: got shape [2 3] of type <i4, want 9 numb": {line, picture.Options{With: []picture.Input{*heat}}},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := picture.Draw(t.Context(), x.in, &x.o)
			var unfit *picture.Unfit
			require.ErrorAs(t, err, &unfit)
			require.ErrorContains(t, err, want)
		})
	}
	_, err := picture.Draw(t.Context(), input(t, []int64{2}, []float64{math.NaN(), math.Inf(1)}), &picture.Options{})
	require.ErrorIs(t, err, ndarray.ErrValue)
}

func TestStep(t *testing.T) {
	for _, x := range []struct {
		shape       []int64
		limit, want int64
	}{{[]int64{10, 10}, 100, 1}, {[]int64{10, 10}, 99, 2}, {[]int64{10, 10}, 1, 10}, {[]int64{math.MaxInt64 / 2}, math.MaxInt64 / 6, 3}, {nil, 1, 1}} {
		require.Equal(t, x.want, picture.Step(x.shape, x.limit), x)
	}
}

func TestCommand(t *testing.T) {
	require.Equal(t, "hyperslab plot x.b2nd", picture.Command("x.b2nd", "", &picture.Look{Colors: "viridis", Kind: picture.Auto}))
	l := &picture.Look{
		Kind: picture.Line, Colors: "magma", Log: true, Clip: picture.Clip{Low: 1, High: 99.5}, Panels: 3, Part: picture.Phase, Raw: true, Transpose: true,
	}
	require.Equal(t, `hyperslab plot 'it'\''s.h5:/a[0, :]' --kind line --colors magma --clip 1,99.5 --panels 3 --part phase --log --raw --transpose`,
		picture.Command("it's.h5:/a", "[0, :]", l))
}

func TestParseClip(t *testing.T) {
	for text, want := range map[string]picture.Clip{"": {}, "1,99": {Low: 1, High: 99}, " 0 , 50.5": {High: 50.5}} {
		got, err := picture.ParseClip(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"1", "5,1", "-1,5", "0,101", "a,b", "NaN,5", "1,2,3"} {
		_, err := picture.ParseClip(text)
		require.ErrorContains(t, err, "want two from 0 to 100", text)
	}
}

func TestLook_Check(t *testing.T) {
	require.NoError(t, (&picture.Look{Kind: picture.Image, Colors: "cyclic", Part: picture.Real, Panels: 64}).Check())
	for want, l := range map[string]picture.Look{"kind": {Kind: "pie"}, "colors": {Colors: "pink"}, "part": {Part: "modulus"}, "panels": {Panels: 65}} {
		require.ErrorContains(t, l.Check(), want)
	}
}
