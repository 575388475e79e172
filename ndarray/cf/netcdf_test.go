// Comparison with netCDF4-python and cftime.

package cf_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// python runs a program of testdata and returns its output.
func python(t *testing.T, interpreter, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(interpreter, append([]string{filepath.Join("testdata", program)}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	return out
}

// reference is a variable as netCDF4-python reads it.
type reference struct {
	File, Path, DType string
	Shape             []int64
	Values            []*string // nil: missing
	Dates             []*string // nil: no times
}

// TestVariable_netCDF compares values, types, missing values and dates with those of netCDF4-python
// and cftime: of generated variables, and of all files of HDF5 and netCDF in the corpus.
func TestVariable_netCDF(t *testing.T) {
	interpreter := testenv.Python(t, "netCDF4", "cftime", "h5py", "numpy")
	step := "17"
	if testenv.All() {
		step = "1"
	}
	t.Run("generated", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "generated.nc")
		python(t, interpreter, "netcdf.py", "write", file, step)
		values, dates := compareFiles(t, interpreter, file)
		t.Logf("%d variables, %d with dates", values, dates)
		require.Greater(t, values, 150)
		require.Greater(t, dates, 9)
	})
	t.Run("corpus", func(t *testing.T) {
		files := testenv.Files(t, testenv.Corpus, "hdf5-foreign/*", "hdf5-filters/*.h5")
		values, _ := compareFiles(t, interpreter, files...)
		t.Logf("%d variables", values)
		require.Positive(t, values)
	})
}

// compareFiles compares all variables of files. It returns the number of variables and of those
// with dates.
func compareFiles(t *testing.T, interpreter string, files ...string) (values, dates int) {
	var list []reference
	require.NoError(t, json.Unmarshal(python(t, interpreter, "netcdf.py", append([]string{"read"}, files...)...), &list))
	trees := make(map[string]*hyperslab.Tree)
	defer func() {
		for _, tree := range trees {
			require.NoError(t, tree.Close())
		}
	}()
	for _, want := range list {
		tree := trees[want.File]
		if tree == nil {
			var err error
			tree, err = hyperslab.OpenTree(t.Context(), want.File, nil)
			require.NoError(t, err)
			trees[want.File] = tree
		}
		compared, dated := want.compare(t, tree)
		if compared {
			values++
		}
		if dated {
			dates++
		}
		if t.Failed() {
			return values, dates
		}
	}
	return values, dates
}

func (want *reference) compare(t *testing.T, tree cf.Tree) (compared, dated bool) {
	ctx := t.Context()
	name := filepath.Base(want.File) + ":" + want.Path
	v, err := cf.Open(ctx, tree, want.Path)
	if errors.Is(err, ndarray.ErrNotFound) {
		return false, false // netCDF4 names a dataset otherwise
	}
	require.NoError(t, err, name)
	defer func() { require.NoError(t, v.Close()) }()
	arr, err := v.Values(nil)
	require.NoError(t, err, name)
	defer func() { require.NoError(t, arr.Close()) }()
	if fmt.Sprint(arr.Shape()) != fmt.Sprint(want.Shape) {
		return false, false // an unlimited dimension is longer in netCDF
	}
	require.Equal(t, want.DType, arr.DType().NumPy().String(), "%s %v", name, v.Attrs.List)
	r := ndarray.Whole(arr.Shape())
	raw, nulls := make([]byte, arr.NBytes()), make([]bool, arr.NumElems())
	if err := arr.Read(ctx, raw, r); errors.Is(err, errors.ErrUnsupported) {
		return false, false // a filter that is missing
	}
	require.NoError(t, err, name)
	require.NoError(t, arr.ReadNulls(ctx, nulls, r))
	texts, err := v.Formatter(ctx, r)
	require.NoError(t, err)
	size := arr.DType().Size
	for i, text := range want.Values {
		element := raw[i*size:][:size]
		about := fmt.Sprintf("%s: element %d, %v", name, i, v.Attrs.List)
		require.Equal(t, text == nil, nulls[i], about)
		if text == nil {
			if arr.DType().Kind == ndarray.Float {
				require.True(t, math.IsNaN(floatOf(element)), about)
			}
			continue
		}
		if arr.DType().Kind != ndarray.Float {
			require.Equal(t, *text, ndarray.FormatElement(arr.DType(), element), about)
			if want.Dates == nil {
				require.Equal(t, *text, texts(i), about)
			}
			continue
		}
		w, err := strconv.ParseFloat(*text, 64)
		require.NoError(t, err)
		if got := floatOf(element); !(math.IsNaN(w) && math.IsNaN(got)) {
			require.Equal(t, math.Float64bits(w), math.Float64bits(got), about)
		}
	}
	if want.Dates != nil && v.IsTime() {
		want.compareDates(ctx, t, v, texts)
		return true, true
	}
	return true, false
}

// compareDates compares dates, one by one, because a date out of range is an error.
func (want *reference) compareDates(ctx context.Context, t *testing.T, v *cf.Variable, texts func(int) string) {
	for i, text := range want.Dates {
		about := fmt.Sprintf("%s: element %d (%v), %s, %s", want.Path, i, want.Values[i], v.Units, v.Calendar)
		r := ndarray.Region{Start: []int64{int64(i)}, Shape: []int64{1}}
		got, err := v.Dates(ctx, r)
		if text != nil && *text == "error" {
			require.ErrorIs(t, err, ndarray.ErrValue, about)
			require.Equal(t, "NaT", texts(i), about)
			continue
		}
		require.NoError(t, err, about)
		if text == nil {
			require.Equal(t, cf.Date{}, got[0], about)
			require.Equal(t, "NaT", texts(i), about)
			continue
		}
		require.Equal(t, *text, got[0].String(), about)
		require.Equal(t, *text, texts(i), about)
		times, err := v.Times(ctx, r)
		if d := got[0]; d.Year > 0 && (d.Month != 2 || d.Day < 29) {
			require.NoError(t, err, about)
			require.Equal(t, *text, times[0].Format("2006-01-02T15:04:05.000000"), about)
		}
	}
}

func floatOf(b []byte) float64 {
	switch len(b) {
	case 2, 4:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(b))
}
