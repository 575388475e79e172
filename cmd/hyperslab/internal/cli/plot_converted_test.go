// Tests of the coordinates in plots. plot must find them next to an array in every format, and must
// not read files elsewhere.

package cli_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// done runs a command that must succeed, and returns its standard output.
func done(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := run(args...)
	require.Zero(t, code, "%v: %s", args, stderr)
	return stdout
}

// blocks returns the plot on a terminal. Its title is fixed, so that the plot does not contain the
// location of the array.
func blocks(t *testing.T, address string, more ...string) string {
	t.Helper()
	return done(t, append([]string{"plot", address, "--title", "picture"}, more...)...)
}

// svgWords returns all text of an SVG file.
func svgWords(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	d := xml.NewDecoder(strings.NewReader(string(text)))
	var words strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words.String()
		}
		require.NoError(t, err)
		if s, ok := token.(xml.CharData); ok {
			words.Write(s)
		}
	}
}

// ends returns the numbers in the first and the last row of a plot. They are in its first ten
// columns.
func ends(t *testing.T, picture string) (top, bottom float64) {
	t.Helper()
	var numbers []float64
	for _, line := range strings.Split(picture, "\n")[1:] { // after the title
		if text := strings.TrimSpace(line[:min(10, len(line))]); text != "" {
			v, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err, picture)
			numbers = append(numbers, v)
		}
	}
	require.GreaterOrEqual(t, len(numbers), 2, picture)
	return numbers[0], numbers[len(numbers)-1]
}

// TestPlot_convertedTree checks that arrays of a converted tree have the same plot as in the source
// file, with north at the top, for each form of their address.
func TestPlot_convertedTree(t *testing.T) {
	t.Chdir(field(t))
	done(t, "convert", "etopo.h5", "tree", "--exclude-unsupported", "-q")
	done(t, "convert", "tree", "back.h5", "-q")
	done(t, "convert", "tree/ROSE.b2nd", "tree/sparse.b2nd", "--sparse", "-q")
	for _, selection := range []string{"", "[::-1, 20:80]", "[45]"} {
		want := blocks(t, "etopo.h5:/ROSE"+selection)
		require.Contains(t, want, "ETOPO120X [degrees_east]")
		for _, address := range []string{"tree:/ROSE", "tree/ROSE.b2nd", "./tree//ROSE.b2nd", "tree/sparse.b2nd", "tree/sparse.b2nd/", "back.h5:/ROSE"} {
			require.Equal(t, want, blocks(t, address+selection), address)
		}
		require.Equal(t, want, blocks(t, "tree/ROSE.b2nd"+selection, "--untrusted"))
	}
	want := blocks(t, "etopo.h5:/ROSE")
	north, south := ends(t, want)
	require.Greater(t, north, 80.0)
	require.Less(t, south, -80.0)

	file := filepath.Join(t.TempDir(), "p.svg")
	done(t, "plot", "tree/ROSE.b2nd", "-o", file)
	words := svgWords(t, file)
	require.Contains(t, words, "ETOPO120Y [degrees_north]")
	require.Contains(t, words, "ETOPO120X [degrees_east]")
	require.Contains(t, words, "RELIEF OF THE SURFACE OF THE EARTH")

	t.Chdir("tree")
	require.Equal(t, want, blocks(t, "ROSE.b2nd"))
}

// TestPlot_convertedArray checks that an array that was converted alone has a plot with dimension
// names and indexes, and with row 0 at the top. Once its coordinate arrays are in the same
// directory, the plot must be that of the source file.
func TestPlot_convertedArray(t *testing.T) {
	t.Chdir(field(t))
	convert := func(from, to string) { done(t, "convert", "etopo.h5:/"+from, to, "--exclude-unsupported", "-q") }
	convert("ROSE", "rose.b2nd")
	alone := blocks(t, "rose.b2nd")
	require.Contains(t, alone, "ETOPO120X")
	require.NotContains(t, alone, "degrees")
	top, bottom := ends(t, alone)
	require.Less(t, top, 10.0)
	require.Greater(t, bottom, 80.0)
	require.LessOrEqual(t, bottom, 89.0)

	convert("ETOPO120X", "ETOPO120X.b2nd")
	require.Contains(t, blocks(t, "rose.b2nd"), "ETOPO120X [degrees_east]")
	convert("ETOPO120Y", "ETOPO120Y.b2nd")
	require.Equal(t, blocks(t, "etopo.h5:/ROSE"), blocks(t, "rose.b2nd"))
}

// TestPlot_convertedTable checks that plot also finds coordinates in the columns of a ctable.
func TestPlot_convertedTable(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("g", 0o755))
	values := make([]float32, 36)
	for i := range values {
		values[i] = float32(i * i)
	}
	degrees := ndarray.Spec{Shape: []int64{6}, Attrs: []ndarray.Attr{{Name: "units", Value: ndarray.Text("degrees")}}}
	create(t, "g/temp.b2nd", ndarray.Spec{Shape: []int64{6, 6}, AxisNames: []string{"lat", "lon"}}, values)
	create(t, "g/lat.b2nd", degrees, []float64{-50, -30, -10, 10, 30, 50})
	create(t, "g/lon.b2nd", degrees, []int16{100, 101, 102, 103, 104, 105})
	want := blocks(t, "g/temp.b2nd")
	require.Contains(t, want, "lon [degrees]")
	top, bottom := ends(t, want)
	require.Equal(t, []float64{50, -50}, []float64{top, bottom})
	done(t, "convert", "g", "table.bcolz", "-q")
	done(t, "convert", "table.bcolz", "table.h5", "-q")
	for _, address := range []string{"table.bcolz:/temp", "table.bcolz/temp", "table.h5:/temp", "g:/temp"} {
		require.Equal(t, want, blocks(t, address), address)
	}
}

// TestPlot_NoCoordinates checks that an array is ignored as coordinates unless its length and
// dtype fit, and that no dimension name leads to a file outside the directory.
func TestPlot_NoCoordinates(t *testing.T) {
	t.Chdir(t.TempDir())
	draw := func(names ...string) string {
		t.Helper()
		require.NoError(t, os.RemoveAll("here/temp.b2nd"))
		create(t, "here/temp.b2nd", ndarray.Spec{Shape: []int64{4, 3}, AxisNames: names}, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
		return blocks(t, "here/temp.b2nd")
	}
	require.NoError(t, os.Mkdir("here", 0o755))
	place := func(file string, first, step float32) {
		create(t, file, ndarray.Spec{Shape: []int64{4}}, []float32{first, first + step, first + 2*step, first + 3*step})
	}
	index := draw("lat", "lon")
	top, bottom := ends(t, index)
	require.Equal(t, []float64{0, 3}, []float64{top, bottom})

	place("lat.b2nd", 10, 10)
	place("here/inner.b2nd", 10, 10)
	place("here/50%25.b2nd", 10, 10)
	create(t, "here/longer.b2nd", ndarray.Spec{Shape: []int64{5}}, []float32{1, 2, 3, 4, 5})
	create(t, "here/square.b2nd", ndarray.Spec{Shape: []int64{2, 2}}, []float32{1, 2, 3, 4})
	create(t, "here/complex.b2nd", ndarray.Spec{Shape: []int64{4}}, []complex64{1, 2, 3, 4})
	create(t, "here/uneven.b2nd", ndarray.Spec{Shape: []int64{4}}, []float32{1, 2, 3, 5})
	create(t, "here/unsorted.b2nd", ndarray.Spec{Shape: []int64{4}}, []float32{1, 3, 2, 5})
	put(t, "here/notes.b2nd", []byte("no array"))
	absolute, err := filepath.Abs("lat")
	require.NoError(t, err)
	for _, name := range []string{
		"lat", "../lat", "x/../../lat", "/../lat", absolute, ".", "..", "/", "inner.b2nd", "longer", "square", "complex", "unsorted", "notes", "no such",
	} {
		require.Equal(t, index, draw(name, "lon"), name)
	}
	top, bottom = ends(t, draw("uneven", "lon"))
	require.Equal(t, []float64{5, 1}, []float64{top, bottom})
	for _, name := range []string{"inner", "50%"} {
		top, bottom := ends(t, draw(name, "lon"))
		require.Equal(t, []float64{40, 10}, []float64{top, bottom}, name)
	}
}
