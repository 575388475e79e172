package cli_test

import (
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/ndarray"
)

// netCDF is a Python program. It writes variables with attributes of the CF conventions, and prints
// the values that netCDF4 and cftime read, with null for missing values and times as dates.
const netCDF = `import json, sys
import netCDF4, numpy as np
out = {}
with netCDF4.Dataset(sys.argv[1], "w") as f:
    f.createDimension("x", 6)
    def var(name, kind, data, fill=None, **attrs):
        v = f.createVariable(name, kind, ("x",), fill_value=fill)
        v.set_auto_maskandscale(False)
        v.setncatts(attrs)
        v[:] = np.array(data, kind)
    var("packed", "i2", [0, 100, -32768, 1000, 1001, -1], -32768, scale_factor=0.01, add_offset=273.15, valid_range=np.array([0, 1000], "i2"))
    var("floats", "f4", [0, 1, 1e20, -5, 7, 8], 1e20, missing_value=np.array([7], "f4"), valid_min=np.float32(-1))
    var("offset", "u1", [0, 1, 2, 253, 254, 255], 255, add_offset=-10.0)
    var("bytes", "i1", [0, 1, -1, -128, 127, 5], None, _Unsigned="true", scale_factor=0.5)
    var("plain", "i4", [1, 2, 3, 4, 5, 6])
    for name, units, calendar in (("t", "days since 2000-01-01", "standard"), ("h", "hours since 1900-01-01 00:00:0.0", "proleptic_gregorian"),
                                  ("s", "seconds since 1970-01-01T00:00:00", "gregorian"), ("n", "days since 2004-02-27 12:00", "noleap")):
        var(name, "f8", [0, 0.5, 1, 2, 365.25, 100000], units=units, calendar=calendar)
        times = netCDF4.num2date(f[name][:], units, calendar)
        out[name] = [t.strftime("%Y-%m-%dT%H:%M:%S") for t in times]
    for name in "packed", "floats", "offset", "bytes", "plain":
        v = f[name]
        v.set_auto_maskandscale(True)
        out[name] = [None if x is np.ma.masked else float(x) for x in v[:]]
json.dump(out, sys.stdout)`

func TestCFConventions(t *testing.T) {
	python := need.Python(t, "netCDF4", "numpy")
	file := filepath.Join(t.TempDir(), "cf.nc")
	out, err := exec.Command(python, "-c", netCDF, file).Output()
	require.NoError(t, err)
	var want map[string][]any
	require.NoError(t, json.Unmarshal(out, &want))
	for name, values := range want {
		t.Run(name, func(t *testing.T) {
			var doc struct{ Values []any }
			require.NoError(t, json.Unmarshal([]byte(done(t, "dump", file+":/"+name, "--unpack", "--json")), &doc))
			require.Len(t, doc.Values, len(values))
			low, high, count := math.Inf(1), math.Inf(-1), 0
			for i, w := range values {
				switch w := w.(type) {
				case nil:
					require.Equal(t, "NaN", doc.Values[i])
				case float64:
					require.InDelta(t, w, doc.Values[i], 1e-4)
					low, high, count = min(low, w), max(high, w), count+1
				case string:
					require.Equal(t, w, doc.Values[i].(string)[:len(w)])
				}
			}
			if count == 0 {
				return
			}
			var stats struct {
				Count, NaNs int
				Min, Max    float64
				Unpacked    *string
			}
			require.NoError(t, json.Unmarshal([]byte(done(t, "stats", file+":/"+name, "--json", "--bins", "0")), &stats))
			require.Equal(t, []int{count, len(values) - count}, []int{stats.Count, stats.NaNs})
			require.InDelta(t, low, stats.Min, 1e-4)
			require.InDelta(t, high, stats.Max, 1e-4)
			require.Equal(t, name == "plain", stats.Unpacked == nil)
		})
	}
	t.Run("stored elements", func(t *testing.T) {
		require.Contains(t, done(t, "stats", file+":/packed", "--as-is", "--bins", "0"), "-32768")
		require.Contains(t, done(t, "dump", file+":/packed"), "-32768")
	})
	t.Run("picture", func(t *testing.T) {
		text, stderr, code := run("plot", file+":/packed", "--kind", "histogram", "--bins", "1")
		require.Zero(t, code)
		require.Contains(t, text, "273.15")
		require.Contains(t, stderr, "element × 0.01 (scale_factor) + 273.15 (add_offset)")
	})
	t.Run("calendar with other dates", func(t *testing.T) {
		at := filepath.Join(t.TempDir(), "d.b2nd")
		create(t, at, ndarray.Spec{Shape: []int64{1}, Attrs: []ndarray.Attr{
			{Name: "units", Value: ndarray.Text("days since 2000-01-01")}, {Name: "calendar", Value: ndarray.Text("360_day")},
		}}, []float64{1})
		_, stderr, code := run("dump", at, "--unpack")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, `calendar "360_day"`)
	})
}

// TestConvert_WithCoordinates checks that a variable that was converted with its coordinates has
// the same plot as in the source file, for increasing and decreasing latitudes.
func TestConvert_WithCoordinates(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"up", "down"} {
		lat := []float64{-60, -20, 20, 60}
		if name == "down" {
			lat = []float64{60, 20, -20, -60}
		}
		file := name + ".h5"
		create(t, file+":/lat", ndarray.Spec{Shape: []int64{4}}, lat)
		create(t, file+":/lon", ndarray.Spec{Shape: []int64{3}}, []float64{0, 10, 20})
		create(t, file+":/other", ndarray.Spec{Shape: []int64{3}}, []float64{0, 10, 20})
		create(t, file+":/height", ndarray.Spec{Shape: []int64{3}}, []float64{0, 10, 20})
		create(t, file+":/v", ndarray.Spec{
			Shape: []int64{4, 3}, AxisNames: []string{"lat", "lon"}, Attrs: []ndarray.Attr{{Name: "coordinates", Value: ndarray.Text("height nowhere")}},
		}, []int16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
		done(t, "convert", file+":/v", name+"-dir", "--with-coordinates", "-q")
		done(t, "convert", file+":/v", name+"-new.h5", "--with-coordinates", "-q")
		for _, to := range []string{name + "-dir", name + "-new.h5"} {
			list := done(t, "ls", "-r", to)
			require.NotContains(t, list, "other")
			for _, part := range []string{"/lat", "/lon", "/height", "/v"} {
				require.Contains(t, list, part)
			}
			require.Equal(t, blocks(t, file+":/v"), blocks(t, to+":/v"))
			top, bottom := ends(t, blocks(t, to+":/v"))
			require.Greater(t, top, bottom, "north is at the top")
		}
	}
	_, stderr, code := run("convert", "up.h5", "x", "--with-coordinates")
	require.Equal(t, 2, code)
	require.True(t, strings.Contains(stderr, "names no array in a tree"), stderr)
}
