// Tests of hyperslab index.

package cli_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// indexFile writes an HDF5 file with arrays of several layouts.
func indexFile(t *testing.T, name string) {
	values := make([]int32, 60*70)
	for i := range values {
		values[i] = int32(i * i)
	}
	spec := ndarray.Spec{Shape: []int64{60, 70}, ChunkShape: []int64{20, 30}, Compression: &ndarray.Compression{Codec: "deflate", Level: 4, Filters: []string{"shuffle"}}, Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("m")}}, AxisNames: []string{"y", "x"}}
	create(t, name+":/g/chunked", spec, values)
	create(t, name+":/plain", ndarray.Spec{Shape: []int64{60, 70}, Compression: &ndarray.Compression{Codec: "none"}}, values)
	partial := ndarray.Spec{Shape: []int64{100}, ChunkShape: []int64{10}, DType: ndarray.DTypeOf[int32](), Fill: []byte{7, 0, 0, 0}}
	d, err := hyperslab.Create(t.Context(), name+":/partial", partial, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(t.Context(), d.Array, []int32{1, 2, 3}, ndarray.Region{Start: []int64{25}, Shape: []int64{3}}))
	require.NoError(t, d.Commit(t.Context()))
}

// quiet waits until no request arrives for 100 ms and returns their number, because the server may
// receive a request that a command sent ahead after the command has ended.
func quiet(requests *atomic.Int64) int64 {
	for {
		n := requests.Load()
		time.Sleep(100 * time.Millisecond)
		if requests.Load() == n {
			return n
		}
	}
}

func TestRun_index(t *testing.T) {
	dir := t.TempDir()
	indexFile(t, dir+"/x.h5")
	create[int32](t, dir+"/a.b2nd", ndarray.Spec{Shape: []int64{3}}, []int32{1, 2, 3})
	var requests atomic.Int64
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("ETag", `"v1"`)
		files.ServeHTTP(w, r)
	}))
	defer s.Close()
	for _, file := range []string{"x.h5", "a.b2nd"} {
		_, stderr, code := run("index", s.URL+"/"+file, "-o", dir+"/"+file+".index", "--allow-private")
		require.Zero(t, code, stderr)
	}
	for _, c := range []struct {
		args []string
		most int64
	}{
		{[]string{"ls", "-r", "@/x.h5"}, 0}, {[]string{"info", "@/x.h5:/g/chunked"}, 0}, {[]string{"chunks", "@/x.h5:/g/chunked"}, 0},
		{[]string{"stats", "@/x.h5:/g/chunked"}, 1}, {[]string{"dump", "@/x.h5:/partial"}, 1}, {[]string{"info", "@/a.b2nd"}, 0},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			args := append([]string{}, c.args...)
			last := len(args) - 1
			args[last] = strings.Replace(args[last], "@", s.URL, 1)
			want, stderr, code := run(append(args, "--allow-private")...)
			require.Zero(t, code, stderr)
			before := quiet(&requests)
			got, stderr, code := run(append(args, "--allow-private", "--url-index", dir+"/x.h5.index", "--url-index", dir+"/a.b2nd.index")...)
			require.Zero(t, code, stderr)
			require.Equal(t, want, got)
			require.LessOrEqual(t, requests.Load()-before, c.most)
		})
	}
	t.Run("index of a local file", func(t *testing.T) {
		_, stderr, code := run("index", dir+"/x.h5", "-o", dir+"/local.index", "--url", s.URL+"/x.h5")
		require.Zero(t, code, stderr)
		before := quiet(&requests)
		_, stderr, code = run("ls", "-r", s.URL+"/x.h5", "--allow-private", "--url-index", dir+"/local.index")
		require.Zero(t, code, stderr)
		require.Equal(t, int64(1), requests.Load()-before)
	})
	t.Run("directory", func(t *testing.T) {
		require.NoError(t, os.MkdirAll(dir+"/deep", 0o700))
		indexFile(t, dir+"/deep/y.h5")
		_, stderr, code := run("index", dir, "-o", dir+"/all.index", "--url", s.URL+"/")
		require.Zero(t, code, stderr)
		for _, name := range []string{"x.h5", "deep/y.h5", "a.b2nd"} {
			want, stderr, code := run("ls", "-r", s.URL+"/"+name, "--allow-private")
			require.Zero(t, code, stderr)
			before := quiet(&requests)
			got, stderr, code := run("ls", "-r", s.URL+"/"+name, "--allow-private", "--url-index", dir+"/all.index")
			require.Zero(t, code, stderr)
			require.Equal(t, want, got)
			require.Equal(t, int64(1), requests.Load()-before, "a local index has no ETag")
		}
		for _, url := range []string{s.URL, s.URL + "/?token=secret/", "http://user:secret@host/", "http:///", s.URL + "/#a/"} {
			_, stderr, code = run("index", dir, "-o", dir+"/new.index", "--url", url)
			require.Equal(t, 2, code, stderr)
			require.NotContains(t, stderr, "secret")
		}
		_, stderr, code = run("index", dir, "-o", dir+"/new.index", "--url", s.URL+"/", "--keep-going")
		require.Equal(t, 2, code, stderr)
		_, stderr, code = run("index", dir, "-o", dir+"/new.json", "--kerchunk", "json")
		require.Equal(t, 2, code, stderr)
		require.NoError(t, os.WriteFile(dir+"/deep/z.h5", []byte("corrupt"), 0o600))
		_, stderr, code = run("index", dir, "-o", dir+"/new.index", "--url", s.URL+"/")
		require.Equal(t, 2, code, stderr)
		require.Contains(t, stderr, "z.h5")
		require.NoError(t, os.Remove(dir+"/deep/z.h5"))
	})
	t.Run("errors", func(t *testing.T) {
		for args, want := range map[string]int{
			"index " + dir + "/x.h5":                                                2,
			"index " + dir + "/x.h5 -o " + dir + "/x.h5.index":                      4,
			"index " + dir + "/x.h5 -o " + dir + "/new.index --url x":               2,
			"index " + dir + "/none -o " + dir + "/new.index":                       2,
			"index " + dir + "/a.b2nd -o " + dir + "/new.json --kerchunk json":      2,
			"index " + dir + "/x.h5 -o " + dir + "/new.json --kerchunk xml":         2,
			"ls " + s.URL + "/x.h5 --allow-private --url-index " + dir + "/x.h5":    2,
			"ls " + s.URL + "/x.h5 --allow-private --url-index " + dir + "/missing": 2,
		} {
			_, stderr, code := run(strings.Fields(args)...)
			require.Equal(t, want, code, "%s: %s", args, stderr)
		}
		require.NoFileExists(t, dir+"/new.index")
		require.NoFileExists(t, dir+"/new.json")
	})
}

func TestRun_index_kerchunk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.h5")
	indexFile(t, file)
	_, stderr, code := run("index", file, "-o", dir+"/x.json", "--kerchunk", "json")
	require.Zero(t, code, stderr)
	text, err := os.ReadFile(dir + "/x.json")
	require.NoError(t, err)
	var doc struct {
		Version int
		Refs    map[string]any
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Equal(t, 1, doc.Version)
	var z map[string]any
	require.NoError(t, json.Unmarshal([]byte(doc.Refs["g/chunked/.zarray"].(string)), &z))
	require.Equal(t, "<i4", z["dtype"])
	require.Nil(t, z["fill_value"])
	require.Nil(t, z["compressor"])
	require.Equal(t, []any{map[string]any{"id": "shuffle", "elementsize": 4.0}, map[string]any{"id": "zlib", "level": 4.0}}, z["filters"])
	require.JSONEq(t, `{"_ARRAY_DIMENSIONS":["y","x"],"unit":"m"}`, doc.Refs["g/chunked/.zattrs"].(string))
	require.NoError(t, json.Unmarshal([]byte(doc.Refs["partial/.zarray"].(string)), &z))
	require.Equal(t, 7.0, z["fill_value"])

	// Each reference is the place that hyperslab chunks reports.
	keys := regexp.MustCompile(`^g/chunked/\d\.\d$`)
	listed, _, code := run("chunks", file+":/g/chunked", "--json")
	require.Zero(t, code)
	var chunks struct {
		Chunks []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(listed), &chunks))
	places := map[float64]bool{}
	for _, c := range chunks.Chunks {
		places[c["offset"].(float64)] = true
	}
	count := 0
	for key, ref := range doc.Refs {
		if keys.MatchString(key) {
			count++
			require.Equal(t, file, ref.([]any)[0])
			require.True(t, places[ref.([]any)[1].(float64)], key)
		}
	}
	require.Equal(t, 9, count)

	// Parquet: an array of two records, whose chunks are in another order in the file.
	wide := make([]int8, 2*5100)
	for i := range wide {
		wide[i] = int8(i)
	}
	create(t, file+":/wide", ndarray.Spec{Shape: []int64{2, 5100}, MaxShape: []int64{2, ndarray.Unlimited}, ChunkShape: []int64{1, 1}, Compression: &ndarray.Compression{Codec: "none"}}, wide)
	for _, name := range []string{"all.json", "all.parq"} {
		format := map[string]string{".json": "json", ".parq": "parquet"}[filepath.Ext(name)]
		_, stderr, code := run("index", file, "-o", filepath.Join(dir, name), "--kerchunk", format)
		require.Zero(t, code, stderr)
		if testenv.All() {
			c := exec.Command(testenv.RemotePython(t, "xarray", "h5py", "pyarrow", "fastparquet"), "testdata/kerchunk.py", filepath.Join(dir, name), file, "4")
			out, err := c.CombinedOutput()
			require.NoError(t, err, string(out))
		}
	}
	var files []string
	require.NoError(t, filepath.WalkDir(dir+"/all.parq", func(name string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			files = append(files, strings.TrimPrefix(name, dir+"/all.parq/"))
		}
		return err
	}))
	require.Equal(t, []string{".zmetadata", "g/chunked/refs.0.parq", "partial/refs.0.parq", "plain/refs.0.parq", "wide/refs.0.parq", "wide/refs.1.parq"}, files)
	text, err = os.ReadFile(dir + "/all.parq/.zmetadata")
	require.NoError(t, err)
	var metadata struct {
		Record   int                       `json:"record_size"`
		Metadata map[string]map[string]any `json:"metadata"`
	}
	require.NoError(t, json.Unmarshal(text, &metadata))
	require.Equal(t, 10000, metadata.Record)
	require.Equal(t, []any{2.0, 5100.0}, metadata.Metadata["wide/.zarray"]["shape"])
	_, stderr, code = run("index", file, "-o", dir+"/all.parq", "--kerchunk", "parquet")
	require.Equal(t, 4, code, stderr)
	_, stderr, code = run("index", file, "-o", dir+"/all.parq", "--kerchunk", "parquet", "-f")
	require.Zero(t, code, stderr)

	for name, reason := range map[string]string{
		"..": "zarr refuses it", ".zz": "begin with .z", ".zarray": "begin with .z", `a\b`: "backslash", "\xff\xfe": "UTF-8", "...": "", "a.zz": "",
	} {
		t.Run("name "+strconv.Quote(name), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "name.h5")
			f, err := h5.Create(file, nil)
			require.NoError(t, err)
			g, err := f.Root().CreateGroup("g")
			require.NoError(t, err)
			d, err := g.CreateDataset(name, h5.Int(1, h5.LittleEndian), h5.SimpleSpace(1), nil)
			require.NoError(t, err)
			require.NoError(t, d.WriteRegion([]byte{1}, h5.Int(1, h5.LittleEndian), h5.Region{Start: []int64{0}, Count: []int64{1}}))
			require.NoError(t, errors.Join(d.Close(), g.Close(), f.Close()))
			for _, kind := range []string{"json", "parquet"} {
				out := filepath.Join(t.TempDir(), "out")
				_, stderr, code := run("index", file, "-o", out, "--kerchunk", kind)
				if reason == "" {
					require.Zero(t, code, stderr)
					continue
				}
				require.Equal(t, 2, code, stderr)
				require.Contains(t, stderr, reason)
				require.NoFileExists(t, out)
				require.NoDirExists(t, out)
			}
		})
	}
}

// attributesFile is a Python program. It writes a netCDF file with times, packed values, missing
// values, coordinates, and a dimension without a variable, among others.
const attributesFile = `import sys
import netCDF4, numpy as np
with netCDF4.Dataset(sys.argv[1], "w") as f:
    f.createDimension("time", 3); f.createDimension("x", 2)
    f.title = "text"; f.setncattr_string("history", "one"); f.setncattr_string("list", ["a", "b"])
    f.limit = np.float64("nan"); f.limits = np.array([np.inf, 1.0, -np.inf]); f.count = np.int64(2**53 + 1); f.counts = np.array([2**64 - 1, 0], "u8")
    f.tenth = np.float32(0.1); f.whole = np.float64(2); f.one = np.array([7], "i2"); f.setncattr_string("empty", "")
    t = f.createVariable("time", "i4", ("time",)); t.setncattr_string("units", "hours since 2000-01-01 06:00"); t.setncattr_string("calendar", "proleptic_gregorian")
    t[:] = [0, 1, 100000]
    lat = f.createVariable("lat", "f8", ("x",)); lat[:] = [50, 60.5]
    v = f.createVariable("v", "i2", ("time", "x"), fill_value=-99); v.scale_factor = 0.5; v.add_offset = np.float64(10); v.setncattr_string("coordinates", "lat")
    v[:] = np.ma.masked_equal([[1, 2], [3, -1], [5, 6]], -1)
    n = f.createVariable("n", "f4", ("time",), fill_value=np.nan); n[:] = [1, np.nan, 3]
    m = f.createVariable("m", "f8", ("time",), chunksizes=(1,)); m.missing_value = np.nan; m[1] = 2.5`

// sameAttributes is a Python program. It compares the attributes of references with those that
// kerchunk writes, and the decoded values with those of the file.
const sameAttributes = `import json, os, sys, warnings
import numpy as np, xarray as xr
from kerchunk.hdf import SingleHdf5ToZarr
warnings.simplefilter("ignore")
file, references = sys.argv[1:]
want = SingleHdf5ToZarr(file, inline_threshold=0).translate()["refs"]
want = {k: json.loads(v) for k, v in want.items() if k.endswith(".zattrs")}
if os.path.isdir(references):
    got = json.load(open(references + "/.zmetadata"))["metadata"]
else:
    got = {k: json.loads(v) for k, v in json.load(open(references))["refs"].items() if k.endswith(".zattrs") or k.endswith(".zgroup")}
for key, attrs in want.items():
    ours = dict(got[key])
    ours.pop("_FillValue", None) # kerchunk has it only as fill_value
    assert repr(ours) == repr(dict(sorted(attrs.items()))), (key, ours, attrs)
    for name in ours:
        assert type(ours[name]) is type(attrs[name]), (key, name)
assert set(k for k in got if k.endswith(".zattrs")) == set(want), (sorted(got), sorted(want))
ds = xr.open_dataset("reference://", engine="zarr", backend_kwargs={"consolidated": False, "storage_options": {"fo": references, "remote_protocol": "file"}})
assert sorted(ds.coords) == ["lat", "time"], ds.coords
assert sorted(ds.data_vars) == ["m", "n", "v"], ds
assert ds.v.dims == ("time", "x")
np.testing.assert_array_equal(ds.time.values, np.array(["2000-01-01T06", "2000-01-01T07", "2011-05-29T22"], "M8[ns]"))
np.testing.assert_array_equal(ds.v.values, [[1, 2], [3, np.nan], [5, 6]])
np.testing.assert_array_equal(ds.n.values, [1, np.nan, 3])
assert ds.m.values[1] == 2.5
assert ds.attrs["count"] == 2**53 + 1 and ds.attrs["counts"] == [2**64 - 1, 0]
assert np.isnan(ds.attrs["limit"]) and ds.attrs["limits"] == [np.inf, 1, -np.inf]
`

// TestRun_index_attributes compares the attributes of references with those of kerchunk, and what
// xarray decodes with them.
func TestRun_index_attributes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.nc")
	out, err := exec.Command(testenv.Python(t, "netCDF4", "numpy"), "-c", attributesFile, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	python := testenv.RemotePython(t, "xarray", "kerchunk", "fastparquet")
	for _, kind := range []string{"json", "parquet"} {
		t.Run(kind, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "references")
			done(t, "index", file, "-o", to, "--kerchunk", kind)
			out, err := exec.Command(python, "-c", sameAttributes, file, to).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// TestRun_index_memory indexes 1,000,000 chunks.
func TestRun_index_memory(t *testing.T) {
	if !testenv.All() {
		t.Skip("only with HYPERSLAB_ALL=1: writing 1,000,000 chunks takes about 15 s")
	}
	testenv.NoRace(t, "the limits are for a command without the detector")
	dir := t.TempDir()
	values := make([]uint8, 1000*4000)
	for i := range values {
		values[i] = uint8(i)
	}
	create(t, dir+"/x.h5:/x", ndarray.Spec{Shape: []int64{1000, 4000}, ChunkShape: []int64{1, 4}, Compression: &ndarray.Compression{Codec: "none"}}, values)
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`)
	for _, c := range []struct {
		out  string
		args []string
		most int // kB
	}{{"/x.json", []string{"--kerchunk", "json"}, 256 << 10}, {"/x.parq", []string{"--kerchunk", "parquet"}, 256 << 10}, {"/x.index", nil, 512 << 10}} {
		t.Run(c.out[1:], func(t *testing.T) {
			out, err := exec.Command("peak", append([]string{"index", dir + "/x.h5", "-o", dir + c.out}, c.args...)...).CombinedOutput()
			require.NoError(t, err, string(out))
			used, err := strconv.Atoi(string(peak.FindSubmatch(out)[1]))
			require.NoError(t, err)
			require.Less(t, used, c.most)
		})
	}
	files, err := filepath.Glob(dir + "/x.parq/x/refs.*.parq")
	require.NoError(t, err)
	require.Len(t, files, 100)
}
