package cli_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
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
const netCDF = `import json, random, sys
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
    packed = []
    random.seed(8)
    for kind in "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8":
        for number in range(12):
            name = kind + "_%d" % number
            attrs = {}
            if number % 3 != 0:
                attrs["scale_factor"] = random.choice([np.float32, np.float64])(random.choice([0.01, 1 / 3, -2.5, 1e-7, 300]))
            if number % 3 != 1:
                attrs["add_offset"] = random.choice([np.float32, np.float64])(random.choice([273.15, -1e5, 0.1, 1e-3]))
            if kind[0] == "f":
                attrs["missing_value"] = random.choice([np.float32, np.float64])(1e20)
                attrs["valid_max"] = np.dtype(kind).type(1e21)
            low, high = (-1e3, 1e3) if kind[0] == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
            data = [random.uniform(low, high) if kind[0] == "f" else random.randint(low, high) for _ in range(4)]
            data += [1e20, 1e22] if kind[0] == "f" else [low, 1]
            var(name, kind, data, 1 if kind[0] != "f" else None, **attrs)
            packed.append(name)
    for name, units, calendar in (("t", "days since 2000-01-01", "standard"), ("h", "hours since 1900-01-01 00:00:0.0", "proleptic_gregorian"),
                                  ("s", "seconds since 1970-01-01T00:00:00", "gregorian"), ("n", "days since 2004-02-27 12:00", "noleap")):
        var(name, "f8", [0, 0.5, 1, 2, 365.25, 100000], units=units, calendar=calendar)
        times = netCDF4.num2date(f[name][:], units, calendar)
        out[name] = [t.strftime("%Y-%m-%dT%H:%M:%S") for t in times]
    for name in ["packed", "floats", "offset", "bytes", "plain"] + packed:
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
					require.Equal(t, w, doc.Values[i])
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
			require.Equal(t, []float64{low, high}, []float64{stats.Min, stats.Max})
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
	t.Run("unknown calendar", func(t *testing.T) {
		at := filepath.Join(t.TempDir(), "d.b2nd")
		create(t, at, ndarray.Spec{Shape: []int64{1}, Attrs: []ndarray.Attr{
			{Name: "units", Value: ndarray.Text("days since 2000-01-01")}, {Name: "calendar", Value: ndarray.Text("none")},
		}}, []float64{1})
		_, stderr, code := run("dump", at, "--unpack")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, `calendar "none"`)
	})
}

// netCDFIntegers is a Python program. It writes integers with attributes that mark missing values,
// and prints those that netCDF4 reads as strings, with null for missing values.
const netCDFIntegers = `import json, random, sys
import netCDF4, numpy as np
random.seed(3)
out = {}
with netCDF4.Dataset(sys.argv[1], "w") as f:
    f.createDimension("x", 400)
    number = 0
    for kind in "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8":
        info = np.iinfo(kind)
        top = 2 ** (8 * info.dtype.itemsize - 1) - 1
        def some():
            near = random.choice([info.min, info.max, 0, 2 ** 53, -2 ** 53, 2 ** 62, top // 2, 100])
            return min(max(near + random.randrange(-3, 4), info.min), info.max)
        for _ in range(24):
            pool = [some() for _ in range(30)]
            fill = random.choice([None, random.choice(pool)])
            attrs = {}
            if random.random() < 0.5:
                values = random.sample(pool, random.choice([1, 1, 3]))
                attrs["missing_value"] = np.array(values, kind) if len(values) > 1 else np.dtype(kind).type(values[0])
                small = [v for v in values if abs(v) < 2 ** 31]
                if len(values) == 1 and small and random.random() < 0.5:
                    attrs["missing_value"] = random.choice([np.float64, np.int32, np.int64])(small[0])
            if random.random() < 0.3:
                attrs["valid_range"] = np.array(sorted(random.sample(pool, 2)), kind)
            else:
                if random.random() < 0.4:
                    attrs["valid_min"] = np.dtype(kind).type(random.choice(pool))
                if random.random() < 0.4:
                    attrs["valid_max"] = np.dtype(kind).type(random.choice(pool))
            if kind[0] == "i" and random.random() < 0.4:
                attrs["_Unsigned"] = random.choice(["true", "True"])
            if random.random() < 0.3:
                attrs["scale_factor"] = np.dtype(kind).type(1)
            number += 1
            v = f.createVariable("v%d" % number, kind, ("x",), fill_value=False if fill is None else fill, zlib=random.random() < 0.5)
            v.set_auto_maskandscale(False)
            v.setncatts(attrs)
            v[:] = np.array([random.choice(pool) for _ in range(400)], kind)
            default = netCDF4.default_fillvals[kind]
            data = v[:]
            if fill is None and kind not in ("i1", "u1"):
                v[:] = np.where(data == np.array(default, kind), np.array(100, kind), data) # a default of netCDF4, not an attribute
            v.set_auto_maskandscale(True)
            try:
                out[v.name] = [None if x is np.ma.masked else str(int(x)) for x in v[:]]
            except TypeError: # netCDF4 cannot read some negative fill values with _Unsigned
                assert "_Unsigned" in attrs
json.dump(out, sys.stdout)`

// TestCFConventions_integers compares integers, exactly, with those that netCDF4 reads.
func TestCFConventions_integers(t *testing.T) {
	python := need.Python(t, "netCDF4", "numpy")
	file := filepath.Join(t.TempDir(), "cf.nc")
	cmd := exec.Command(python, "-W", "ignore", "-c", netCDFIntegers, file)
	out, err := cmd.Output()
	require.NoError(t, err)
	var want map[string][]*string
	require.NoError(t, json.Unmarshal(out, &want))
	require.Greater(t, len(want), 140)
	for name, values := range want {
		t.Run(name, func(t *testing.T) {
			sum, missing := new(big.Int), 0
			var least, most *big.Int
			for _, text := range values {
				if text == nil {
					missing++
					continue
				}
				n, ok := new(big.Int).SetString(*text, 10)
				require.True(t, ok)
				sum.Add(sum, n)
				if least == nil || n.Cmp(least) < 0 {
					least = n
				}
				if most == nil || n.Cmp(most) > 0 {
					most = n
				}
			}
			text := func(n *big.Int) string {
				switch {
				case n == nil:
					return "null"
				case new(big.Int).Abs(n).Cmp(big.NewInt(1<<53)) > 0:
					return `"` + n.String() + `"`
				}
				return n.String()
			}
			var doc struct{ Values []json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(done(t, "dump", file+":/"+name, "--unpack", "--json")), &doc))
			require.Len(t, doc.Values, len(values))
			for i, v := range values {
				w := `"NaN"`
				if v != nil {
					n, _ := new(big.Int).SetString(*v, 10)
					w = text(n)
				}
				require.Equal(t, w, string(doc.Values[i]), i)
			}
			var stats struct {
				Count, NaNs   int
				Min, Max, Sum json.RawMessage
				Histogram     *struct {
					Bins         []int
					Below, Above int
				}
			}
			require.NoError(t, json.Unmarshal([]byte(done(t, "stats", file+":/"+name, "--json", "--bins", "7")), &stats))
			require.Equal(t, []any{len(values) - missing, missing, text(least), text(most), text(sum)},
				[]any{stats.Count, stats.NaNs, string(stats.Min), string(stats.Max), string(stats.Sum)})
			if stats.Histogram != nil {
				total := 0
				for _, n := range stats.Histogram.Bins {
					total += n
				}
				require.Equal(t, []int{stats.Count, 0, 0}, []int{total, stats.Histogram.Below, stats.Histogram.Above})
			}
		})
	}
}

// TestDump_dates checks dates that datetime64 does not have, and numbers that are no dates.
func TestDump_dates(t *testing.T) {
	t.Chdir(t.TempDir())
	times := func(units, calendar string, more ...ndarray.Attr) ndarray.Spec {
		return ndarray.Spec{Shape: []int64{3}, Attrs: append(more, ndarray.Attr{Name: "units", Value: ndarray.Text(units)}, ndarray.Attr{Name: "calendar", Value: ndarray.Text(calendar)})}
	}
	create(t, "t.h5:/days360", times("days since 2000-02-28", "360_day"), []int32{0, 1, 2})
	create(t, "t.h5:/julian", times("days since 1582-10-03", "standard"), []int64{1, 2, math.MaxInt64})
	create(t, "t.h5:/none", times("days since 2000-01-01", "standard", ndarray.Attr{Name: "_FillValue", Value: ndarray.Scalar(5.0)}), []float64{5, math.NaN(), 1e20})
	create(t, "t.h5:/ns", times("nanoseconds since 1970-01-01", "proleptic_gregorian"), []int64{1<<62 + 1, -1, 7})
	create(t, "t.h5:/ids", ndarray.Spec{Shape: []int64{3}, Attrs: []ndarray.Attr{{Name: "_FillValue", Value: ndarray.Scalar[int64](-1)}}}, []int64{1<<62 + 1, 3, -1})
	for name, c := range map[string]struct{ want, stderr string }{
		"days360": {"2000-02-28T00:00:00.000000\n2000-02-29T00:00:00.000000\n2000-02-30T00:00:00.000000\n", ""},
		"julian":  {"1582-10-04T00:00:00.000000\n1582-10-15T00:00:00.000000\n\n", "1 element out of range; the first one is [2]"},
		"none":    {"\n\n\n", "1 element NaN or infinite, 1 element out of range; the first one is [1]"},
		"ns":      {"2116-02-20T23:53:38.427387905\n1969-12-31T23:59:59.999999999\n1970-01-01T00:00:00.000000007\n", ""},
		"ids":     {"4611686018427387905\n3\nNaN\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, stderr, code := run("dump", "t.h5:/"+name, "--unpack", "--csv", "--no-header")
			require.Zero(t, code, stderr)
			require.Equal(t, c.want, strings.ReplaceAll(out, "\"\"\n", "\n"))
			if c.stderr == "" {
				require.NotContains(t, stderr, "NaT")
			} else {
				require.Contains(t, stderr, c.stderr)
			}
		})
	}
	for name, want := range map[string]string{
		"days360": "element [2] is the date 2000-02-30T00:00:00.000000 in the calendar 360_day: datetime64 does not have the date",
		"julian":  "element [2]: 9223372036854775807 days since 1582-10-03, calendar standard: the date is out of range",
		"none":    "element [2]: 1e+20 days since",
		"ids":     "element [2] is missing (-1), which <i8 cannot represent",
	} {
		t.Run("npy of "+name, func(t *testing.T) {
			_, stderr, code := run("dump", "t.h5:/"+name, "--unpack", "--npy")
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, want)
			require.Contains(t, stderr, "--csv and --json write all dates")
		})
	}
	out := done(t, "dump", "t.h5:/ns", "--unpack", "--npy")
	require.Contains(t, out, "<M8[ns]")
	require.Equal(t, uint64(1<<62+1), binary.LittleEndian.Uint64([]byte(out[len(out)-24:])))
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
