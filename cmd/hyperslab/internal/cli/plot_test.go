package cli_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// drawn runs plot and decodes the image.
func drawn(t *testing.T, args ...string) image.Image {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.png")
	stdout, stderr, code := run(append([]string{"plot", "-o", file}, args...)...)
	require.Zero(t, code, stderr)
	require.Empty(t, stdout, "the picture is the output, and it is in the file")
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	return img
}

// pixels returns the number of pixels with the given colour to the left of the colour bar, and
// their bounding box.
func pixels(img image.Image, want color.RGBA) (n int, box image.Rectangle) {
	b := img.Bounds()
	b.Max.X -= 118
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if color.RGBAModel.Convert(img.At(x, y)) == want {
				n++
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return n, box
}

var (
	violet = color.RGBA{0x44, 0x01, 0x54, 255}
	yellow = color.RGBA{0xfd, 0xe7, 0x25, 255}
	grey   = color.RGBA{0xc2, 0xbd, 0xb4, 255}
)

// TestPlot_scale draws values from 1 to 1000 with a logarithmic scale and with clipped percentiles.
func TestPlot_scale(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "powers.b2nd", ndarray.Spec{Shape: []int64{1, 4}}, []float64{1, 10, 100, 1000})
	whole, _ := pixels(drawn(t, "powers.b2nd"), violet)
	third := color.RGBA{0x31, 0x68, 0x8e, 255} // at a third of viridis, where 10 is on a logarithmic scale
	n, _ := pixels(drawn(t, "powers.b2nd"), third)
	require.Less(t, n, whole/100)
	n, _ = pixels(drawn(t, "powers.b2nd", "--log"), third)
	require.InEpsilon(t, whole, n, 0.05)
	create(t, "outlier.b2nd", ndarray.Spec{Shape: []int64{10, 10}}, append(make([]float64, 98), 1, 1e9))
	ones, _ := pixels(drawn(t, "outlier.b2nd"), yellow)
	clipped, _ := pixels(drawn(t, "outlier.b2nd", "--clip", "0,98.5"), yellow)
	require.InEpsilon(t, 2*ones, clipped, 0.05)
	create(t, "negative.b2nd", ndarray.Spec{Shape: []int64{2, 2}}, []float64{-1, 0, 1, 10})
	n, _ = pixels(drawn(t, "negative.b2nd", "--log"), grey)
	require.Positive(t, n)
	create(t, "none.b2nd", ndarray.Spec{Shape: []int64{2, 2}}, []float64{-1, 0, -2, -3})
	_, stderr, code := run("plot", "none.b2nd", "--log", "-o", "none.png")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "no finite range of values")
}

// TestPlot_dimensions checks that a plot of an array with more than two dimensions fails, and that
// the error contains an address that plot accepts.
// TestPlot_series draws several curves in one picture.
func TestPlot_series(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "rows.b2nd", ndarray.Spec{Shape: []int64{3, 5}}, []int32{0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 9, 9, 9, 9, 9})
	create(t, "a.b2nd", ndarray.Spec{Shape: []int64{5}}, []int32{1, 1, 1, 1, 1})
	create(t, "b.b2nd", ndarray.Spec{Shape: []int64{5}}, []int32{8, 8, 8, 8, 8})
	create(t, "long.b2nd", ndarray.Spec{Shape: []int64{8, 2}}, make([]int32, 16))
	blue, red := color.RGBA{0x31, 0x68, 0x8e, 255}, color.RGBA{0xd5, 0x5e, 0x00, 255}
	t.Run("rows", func(t *testing.T) {
		img := drawn(t, "rows.b2nd", "--kind", "line")
		_, first := pixels(img, blue)
		_, second := pixels(img, red)
		require.Greater(t, first.Dx(), 400, "the first curve")
		require.Greater(t, second.Dx(), 400, "the second curve")
		stdout, stderr, code := run("plot", "rows.b2nd", "--kind", "line")
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "1 index 0  2 index 1  3 index 2")
	})
	t.Run("arrays", func(t *testing.T) {
		img := drawn(t, "a.b2nd", "--with", "b.b2nd")
		low, first := pixels(img, blue)
		high, second := pixels(img, red)
		require.NotZero(t, low)
		require.NotZero(t, high)
		require.Greater(t, first.Max.Y, second.Max.Y, "the greater values are above")
		stdout, stderr, code := run("plot", "a.b2nd", "--with", "rows.b2nd[2]", "--with", "b.b2nd")
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "1 a.b2nd  2 rows.b2nd[2]  3 b.b2nd")
	})
	for want, args := range map[string][]string{
		"at most 7 curves":  {"long.b2nd", "--kind", "line"},
		"want 5 numbers":    {"a.b2nd", "--with", "long.b2nd[:, 0]"},
		"another array add": {"rows.b2nd", "--with", "a.b2nd"},
		"cannot be combine": {"a.b2nd", "--with", "b.b2nd", "--panels", "2"},
		"missing.b2nd":      {"a.b2nd", "--with", "missing.b2nd"},
	} {
		_, stderr, code := run(append([]string{"plot"}, args...)...)
		require.NotZero(t, code, args)
		require.Contains(t, stderr, want)
	}
}

// TestPlot_panels draws small multiples, in a file and on the terminal.
func TestPlot_panels(t *testing.T) {
	t.Chdir(t.TempDir())
	values := make([]int32, 5*4*6)
	for i := range values {
		values[i] = int32(i / 24) // the index of the first dimension
	}
	create(t, "cube.b2nd", ndarray.Spec{Shape: []int64{5, 4, 6}}, values)
	t.Run("file", func(t *testing.T) {
		img := drawn(t, "cube.b2nd", "--panels", "4")
		n, first := pixels(img, violet)
		m, last := pixels(img, yellow)
		require.Greater(t, n, 10000, "all panels have the same range of values, so only one is violet")
		require.InDelta(t, n, m, float64(n)/10)
		require.True(t, first.Max.X < last.Min.X && first.Max.Y < last.Min.Y, "%v %v", first, last)
	})
	t.Run("terminal", func(t *testing.T) {
		stdout, stderr, code := run("plot", "cube.b2nd", "--panels", "9")
		require.Zero(t, code, stderr)
		for i := range 5 {
			require.Contains(t, stdout, fmt.Sprintf("index %d", i))
		}
	})
	t.Run("lines", func(t *testing.T) {
		n, _ := pixels(drawn(t, "cube.b2nd[:, 0]", "--panels", "3", "--range=-1,5"), color.RGBA{0x31, 0x68, 0x8e, 255})
		require.NotZero(t, n)
	})
	for want, args := range map[string][]string{
		"4 dimension": {"cube.b2nd[:, None]", "--panels", "2"},
		"1 to 64":     {"cube.b2nd", "--panels", "65"},
		"histogram":   {"cube.b2nd", "--panels", "2", "--kind", "histogram"},
		"take 2":      {"cube.b2nd", "--panels", "2", "--kind", "line"},
		"be combine":  {"cube.b2nd", "--panels", "2", "--with", "cube.b2nd"},
	} {
		_, stderr, code := run(append([]string{"plot"}, args...)...)
		require.NotZero(t, code, args)
		require.Contains(t, stderr, want)
	}
}

func TestPlot_dimensions(t *testing.T) {
	t.Chdir(t.TempDir())
	for rank, part := range map[int]string{3: "'cube 3.b2nd[0]'", 5: "'cube 5.b2nd[0, 0, 0]'"} {
		name := fmt.Sprintf("cube %d.b2nd", rank)
		values := make([]int32, 1<<rank)
		values[1] = 1
		create(t, name, ndarray.Spec{Shape: []int64{2, 2, 2, 2, 2}[:rank]}, values)
		_, stderr, code := run("plot", name)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, fmt.Sprintf("%s: the array has %d dimensions; a picture has one or two, which a selection as in %s takes, or --kind histogram", name, rank, part))
		_, stderr, code = run("plot", strings.Trim(part, "'"))
		require.Zero(t, code, stderr)
	}
}

func TestHeatMapCells(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.b2nd")
	create(t, file, ndarray.Spec{Shape: []int64{2, 2}}, []float64{0, 1, math.NaN(), 1})
	img := drawn(t, file, "--size", "600x500")
	require.Equal(t, image.Rect(0, 0, 600, 500), img.Bounds())
	low, lowBox := pixels(img, violet)
	missing, missingBox := pixels(img, grey)
	_, highBox := pixels(img, yellow)
	require.Greater(t, low, 30000)
	require.InEpsilon(t, low, missing, 0.05, "the cells are of one size")
	require.InDelta(t, lowBox.Max.Y, missingBox.Min.Y, 6)
	require.Less(t, lowBox.Min.Y, missingBox.Min.Y, "the first row is at the top")
	require.Greater(t, highBox.Max.X, lowBox.Min.X+200, "the second column is at the right")
}

// TestHeatMap_reversed checks that a selection that reverses a dimension also reverses the plot.
func TestHeatMap_reversed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.b2nd")
	create(t, file, ndarray.Spec{Shape: []int64{2, 2}}, []float64{0, 1, 1, 1})
	for selection, want := range map[string]image.Point{"": {0, 0}, "[::-1]": {0, 1}, "[:, ::-1]": {1, 0}, "[::-1, ::-1]": {1, 1}} {
		_, box := pixels(drawn(t, file+selection, "--size", "600x500"), violet)
		middle := box.Min.Add(box.Max).Div(2)
		require.Equal(t, want, image.Pt(middle.X/270, middle.Y/250), "%s: %v", selection, box)
	}
}

// TestHeatMap_gaps checks that there are no gaps between the cells of a heat map of any size,
// because each element must be in a cell.
func TestHeatMap_gaps(t *testing.T) {
	for _, n := range []int64{7, 29, 90, 113, 1000} {
		file := filepath.Join(t.TempDir(), "a.b2nd")
		values := make([]int16, n*n)
		for i := range values {
			values[i] = int16(i % 256)
		}
		create(t, file, ndarray.Spec{Shape: []int64{n, n}}, values)
		missing, _ := pixels(drawn(t, file, "--size", "400x300"), grey)
		require.Zero(t, missing, "%d", n)
	}
}

func TestSVG(t *testing.T) {
	dir := field(t)
	for _, address := range []string{"etopo.h5:/ROSE", "etopo.h5:/ROSE[3]", "waves.b2nd"} {
		for _, kind := range []string{"auto", "histogram"} {
			file := filepath.Join(t.TempDir(), "p.svg")
			_, stderr, code := run("plot", filepath.Join(dir, address), "--kind", kind, "-o", file, "--title", "A < B & C")
			require.Zero(t, code, stderr)
			words := svgWords(t, file)
			require.Contains(t, words, "A < B & C")
			if strings.Contains(address, "ROSE") {
				require.Contains(t, words, "METERS")
			}
		}
	}
}

// TestPlot_TemporaryFiles checks that a failed plot does not create a file and does not change an
// existing one.
func TestPlot_TemporaryFiles(t *testing.T) {
	dir := field(t)
	t.Chdir(dir)
	put(t, "there.png", []byte("mine"))
	_, _, code := run("plot", "waves.b2nd", "-o", "there.png")
	require.Equal(t, 4, code)
	_, _, code = run("plot", "cut.b2nd", "-o", "new.png")
	require.Equal(t, 2, code)
	_, _, code = run("plot", "waves.b2nd[:0]", "-o", "there.png", "-f")
	require.Equal(t, 2, code)
	b, err := os.ReadFile("there.png")
	require.NoError(t, err)
	require.Equal(t, "mine", string(b))
	left, err := filepath.Glob("*png*")
	require.NoError(t, err)
	require.Equal(t, []string{"there.png"}, left)
	_, _, code = run("plot", "waves.b2nd", "-o", "there.png", "-f")
	require.Zero(t, code)
}
