package cli_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
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
    var("plain", "u1", [1, 2, 3, 4, 5, 6], False)
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
	python := testenv.Python(t, "netCDF4", "numpy")
	file := filepath.Join(t.TempDir(), "cf.nc")
	out, err := exec.Command(python, "-c", netCDF, file).Output()
	require.NoError(t, err)
	var want map[string][]any
	require.NoError(t, json.Unmarshal(out, &want))
	for name, values := range want {
		t.Run(name, func(t *testing.T) {
			var doc struct {
				DType  string
				Values []any
			}
			require.NoError(t, json.Unmarshal([]byte(done(t, "dump", file+":/"+name, "--unpack", "--json")), &doc))
			require.Len(t, doc.Values, len(values))
			low, high, count := math.Inf(1), math.Inf(-1), 0
			for i, w := range values {
				switch w := w.(type) {
				case nil:
					require.Equal(t, "NaN", doc.Values[i])
				case float64:
					got := doc.Values[i].(float64)
					if doc.DType == "<f4" {
						got = float64(float32(got))
					}
					require.Equal(t, w, got)
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
		require.Contains(t, done(t, "stats", file+":/packed", "--raw", "--bins", "0"), "-32768")
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
		out, stderr, code := run("dump", at, "--unpack", "--csv", "--no-header")
		require.Zero(t, code)
		require.Equal(t, "1\n", out)
		require.Contains(t, stderr, `attribute calendar: got "none", want standard`)
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
	python := testenv.Python(t, "netCDF4", "numpy")
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

// netCDFScaled is a Python program. It writes integers with scale_factor and add_offset of all
// types, and prints the values that netCDF4 reads: integers as strings, null for missing values.
// Where NumPy wraps an integer, it prints the exact value and counts it.
const netCDFScaled = `import json, random, sys
import netCDF4, numpy as np
random.seed(5)
out = {}
kinds = "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"
with netCDF4.Dataset(sys.argv[1], "w") as f:
    f.createDimension("x", 40)
    def factor(neutral):
        kind = random.choice(kinds + ("i8", "i8", "f4", "f8"))
        if kind[0] == "f":
            return np.dtype(kind).type(random.choice([2, 0.5, neutral, 0.1, -3]))
        info = np.iinfo(kind)
        near = random.choice([0, 1, 3, 3, 10, -1, -3, neutral, info.max, info.min, 2 ** 53 + 1, 2 ** 61])
        return np.dtype(kind).type(min(max(near, info.min), info.max))
    for number in range(240):
        kind = random.choice(kinds)
        info = np.iinfo(kind)
        def some():
            near = random.choice([0, 0, 1, 5, 7, 100, info.min, info.max, 2 ** 53, 2 ** 40])
            return min(max(near + random.randrange(-3, 4), info.min), info.max)
        pool = [some() for _ in range(15)]
        fill = random.choice([False, False, random.choice(pool)])
        attrs = {}
        if number % 3 != 0:
            attrs["scale_factor"] = factor(1)
        if number % 3 != 1:
            attrs["add_offset"] = factor(0)
        if random.random() < 0.2:
            attrs["valid_range"] = np.array(sorted(random.sample(pool, 2)), kind)
        if kind[0] == "i" and random.random() < 0.3:
            attrs["_Unsigned"] = "true"
        v = f.createVariable("v%d" % number, kind, ("x",), fill_value=fill)
        v.set_auto_maskandscale(False)
        v.setncatts(attrs)
        data = np.array([random.choice(pool) for _ in range(40)], kind)
        if kind not in ("i1", "u1"):
            data[data == np.array(netCDF4.default_fillvals[kind], kind)] = 100 # a default of netCDF4, not an attribute
        v[:] = data
        v.set_auto_maskandscale(True)
        try:
            got = v[:]
        except TypeError: # netCDF4 cannot read some negative fill values with _Unsigned
            assert "_Unsigned" in attrs
            continue
        elements = data.view("u" + kind[1:]) if "_Unsigned" in attrs else data
        scale, offset = attrs.get("scale_factor", 1), attrs.get("add_offset", 0)
        wrapped = [False] * 40
        values = [None if x is np.ma.masked else float(x) for x in got]
        if len({"scale_factor", "add_offset"} & set(attrs)) == 2 and scale == 1 and offset == 0:
            got = np.ma.array(elements, mask=np.ma.getmaskarray(got)) # netCDF4 casts to the type of scale_factor
        if got.dtype.kind != "f":
            exact = [int(e) * int(scale) + int(offset) for e in elements]
            values = [None if x is np.ma.masked else str(n) for x, n in zip(got, exact)]
            wrapped = [x is not np.ma.masked and int(x) != n for x, n in zip(got, exact)]
        elif "scale_factor" in attrs and (scale != 1 or offset != 0) and (elements * scale).dtype.kind != "f":
            product = elements * scale
            if any(int(e) * int(scale) != int(x) for e, x in zip(elements, product)):
                continue # wrapped, and then a float
        out[v.name] = dict(dtype=got.dtype.newbyteorder("<").str, values=values, wrapped=wrapped.index(True) if True in wrapped else -1)
json.dump(out, sys.stdout)`

// TestCFConventions_scaledIntegers compares integers that integers scale, and their types, with
// those that netCDF4 reads. Where NumPy wraps, the exact integer is printed, and .npy fails.
func TestCFConventions_scaledIntegers(t *testing.T) {
	python := testenv.Python(t, "netCDF4", "numpy")
	file := filepath.Join(t.TempDir(), "cf.nc")
	out, err := exec.Command(python, "-W", "ignore", "-c", netCDFScaled, file).Output()
	require.NoError(t, err)
	var want map[string]scaledValues
	require.NoError(t, json.Unmarshal(out, &want))
	cases := map[string]int{}
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			w.check(t, file+":/"+name)
			cases[w.checkNPY(t, file+":/"+name)]++
		})
	}
	for _, kind := range []string{"floats", "integers", "floats with NaN", "missing", "out of range"} {
		require.Greater(t, cases[kind], 2, kind)
	}
}

// scaledValues are the values of a variable that netCDF4 reads.
type scaledValues struct {
	DType   string
	Values  []any // string of an integer, float64 or nil
	Wrapped int   // index of the first integer that NumPy wraps, or -1
}

func (w *scaledValues) integers() bool { return w.DType[1] != 'f' }

// check compares the values and their statistics.
func (w *scaledValues) check(t *testing.T, address string) {
	var doc struct {
		DType  string
		Values []json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(done(t, "dump", address, "--unpack", "--json")), &doc))
	require.Equal(t, w.DType, doc.DType)
	lines := strings.Fields(done(t, "dump", address, "--unpack", "--csv", "--no-header"))
	require.Equal(t, lines, strings.Fields(strings.ReplaceAll(done(t, "dump", address, "--unpack", "--ndjson"), `"`, "")))
	var texts []string
	for _, text := range strings.Fields(done(t, "dump", address, "--unpack")) {
		if text[0] != '[' {
			texts = append(texts, text)
		}
	}
	low, high, count, sum := new(big.Float).SetInf(false), new(big.Float).SetInf(true), 0, new(big.Int)
	for i, v := range w.Values {
		number, text := new(big.Float).SetPrec(2000), string(doc.Values[i])
		switch v := v.(type) {
		case nil:
			require.Equal(t, []string{`"NaN"`, "NaN", "NaN"}, []string{text, lines[i], texts[i]})
			continue
		case string:
			n, _ := new(big.Int).SetString(v, 10)
			sum.Add(sum, n)
			number.SetInt(n)
			if n.CmpAbs(big.NewInt(1<<53)) > 0 {
				v = `"` + v + `"`
			}
			require.Equal(t, []string{v, n.String(), n.String()}, []string{text, lines[i], texts[i]})
		case float64:
			number.SetFloat64(v)
			require.Equal(t, v, w.float(t, text))
			require.Equal(t, v, w.float(t, lines[i]))
		}
		count++
		if number.Cmp(low) < 0 {
			low = number
		}
		if number.Cmp(high) > 0 {
			high = number
		}
	}
	w.checkStats(t, address, count, low, high, sum)
}

// float returns the float of a text of the type.
func (w *scaledValues) float(t *testing.T, text string) float64 {
	if w.DType == "<f4" {
		v, err := strconv.ParseFloat(text, 32)
		require.NoError(t, err)
		return v
	}
	return doubleOf(t, text)
}

func doubleOf(t *testing.T, text string) (v float64) {
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// checkStats compares the statistics. Integers beyond 64 bits are an error.
func (w *scaledValues) checkStats(t *testing.T, address string, count int, low, high *big.Float, sum *big.Int) {
	out, stderr, code := run("stats", address, "--json", "--bins", "3")
	least, most := new(big.Float).SetInt64(math.MinInt64), new(big.Float).SetInt64(math.MaxInt64)
	if w.DType[1] == 'u' {
		least, most = new(big.Float), new(big.Float).SetUint64(math.MaxUint64)
	}
	if w.integers() && count > 0 && (low.Cmp(least) < 0 || high.Cmp(most) > 0) {
		require.Equal(t, 2, code)
		require.Regexp(t, `value does not fit: element \[\d+\] is -?\d+, which `, stderr)
		return
	}
	require.Zero(t, code, stderr)
	var stats struct {
		Count, NaNs   int
		Min, Max, Sum json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(out), &stats))
	require.Equal(t, []int{count, len(w.Values) - count}, []int{stats.Count, stats.NaNs})
	if count == 0 {
		return
	}
	if !w.integers() {
		l, _ := low.Float64()
		h, _ := high.Float64()
		require.Equal(t, []float64{l, h}, []float64{doubleOf(t, string(stats.Min)), doubleOf(t, string(stats.Max))})
		return
	}
	trim := func(b json.RawMessage) string { return strings.Trim(string(b), `"`) }
	require.Equal(t, []string{low.Text('f', 0), high.Text('f', 0), sum.String()}, []string{trim(stats.Min), trim(stats.Max), trim(stats.Sum)})
}

// checkNPY compares the array that NumPy loads, and returns the kind of the result.
func (w *scaledValues) checkNPY(t *testing.T, address string) string {
	out, stderr, code := run("dump", address, "--unpack", "--npy")
	missing := slices.Contains(w.Values, any(nil))
	switch {
	case !w.integers():
		require.Zero(t, code, stderr)
		require.Contains(t, out, "'descr': '"+w.DType+"'")
		return "floats"
	case code == 2 && strings.Contains(stderr, "] is missing ("):
		require.True(t, missing && w.DType[2] == '8', stderr)
		return "missing"
	case code == 2:
		require.GreaterOrEqual(t, w.Wrapped, 0)
		require.Contains(t, stderr, fmt.Sprintf("value does not fit: element [%d] is %v, which %s cannot represent", w.Wrapped, w.Values[w.Wrapped], w.DType))
		return "out of range"
	case strings.Contains(out, "'descr': '<f8'"):
		require.NotEqual(t, '8', rune(w.DType[2]))
		return "floats with NaN"
	}
	require.Zero(t, code, stderr)
	require.Contains(t, out, "'descr': '"+w.DType+"'")
	size := int(w.DType[2] - '0')
	data := out[len(out)-size*len(w.Values):]
	for i, v := range w.Values {
		n, _ := new(big.Int).SetString(v.(string), 10)
		b := make([]byte, 16)
		n.And(n, new(big.Int).SetUint64(math.MaxUint64)).FillBytes(b)
		slices.Reverse(b)
		require.Equal(t, string(b[:size]), data[i*size:][:size])
	}
	return "integers"
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
	create(t, "t.h5:/scaled", times("nanoseconds since 1970-01-01", "proleptic_gregorian",
		ndarray.Attr{Name: "scale_factor", Value: ndarray.Scalar[int64](2)}, ndarray.Attr{Name: "add_offset", Value: ndarray.Scalar[int64](1)}), []int64{1 << 61, -1, math.MaxInt64})
	create(t, "t.h5:/ids", ndarray.Spec{Shape: []int64{3}, Attrs: []ndarray.Attr{{Name: "_FillValue", Value: ndarray.Scalar[int64](-1)}}}, []int64{1<<62 + 1, 3, -1})
	for name, c := range map[string]struct{ want, stderr string }{
		"days360": {"2000-02-28T00:00:00.000000\n2000-02-29T00:00:00.000000\n2000-02-30T00:00:00.000000\n", ""},
		"julian":  {"1582-10-04T00:00:00.000000\n1582-10-15T00:00:00.000000\n\n", "1 element out of range; the first one is [2]"},
		"none":    {"\n\n\n", "1 element NaN or infinite, 1 element out of range; the first one is [1]"},
		"ns":      {"2116-02-20T23:53:38.427387905\n1969-12-31T23:59:59.999999999\n1970-01-01T00:00:00.000000007\n", ""},
		"scaled":  {"2116-02-20T23:53:38.427387905\n1969-12-31T23:59:59.999999999\n\n", "1 element out of range; the first one is [2]"},
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
		"scaled":  "element [2]: 18446744073709551615 nanoseconds since",
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
