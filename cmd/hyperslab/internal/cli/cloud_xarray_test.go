// Tests of the estimates of verify --cloud.

package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// netcdfFiles is a Python program. It writes a small file, one whose metadata is between large
// variables, and one with small chunks.
const netcdfFiles = `import sys
import netCDF4, numpy as np
r = np.random.default_rng(1)
for name, count, size, chunk in (("small", 5, 1000, 0), ("scattered", 7, 1 << 20, 0), ("chunked", 3, 1 << 20, 1 << 12)):
    with netCDF4.Dataset(f"{sys.argv[1]}/{name}.nc", "w") as f:
        f.createDimension("time", size)
        t = f.createVariable("time", "f8", ("time",), contiguous=True)
        t.units = "days since 2000-01-01"
        t[:] = np.arange(size)
        for i in range(count):
            o = dict(chunksizes=(chunk,), compression="zlib", shuffle=True) if chunk else dict(contiguous=True)
            v = f.createVariable(f"v{i}", "f8", ("time",), **o)
            v.units = "m"
            v[:] = r.random(size)
            f.sync()
`

// readerXArray is a Python program: the reader of the estimates. It prints the number of requests
// of a server before and after it opens each file, and after it has read all elements.
const readerXArray = `import sys, urllib.request
import fsspec, xarray as xr
count = lambda: print(urllib.request.urlopen(sys.argv[1] + "/count").read().decode())
for name in sys.argv[2:]:
    count()
    with fsspec.filesystem("http").open(sys.argv[1] + "/" + name, cache_type="blockcache", block_size=4 << 20) as file:
        with xr.open_dataset(file, engine="h5netcdf") as d:
            count()
            d.load()
            count()
`

func TestRun_cloudXArray(t *testing.T) {
	python := testenv.RemotePython(t, "xarray", "h5netcdf", "fsspec", "aiohttp", "netCDF4")
	dir := t.TempDir()
	out, err := exec.Command(python, "-c", netcdfFiles, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var requests atomic.Int64
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/count" {
			fmt.Fprint(w, requests.Load())
			return
		}
		requests.Add(1)
		files.ServeHTTP(w, r)
	}))
	defer s.Close()
	type cost struct {
		Open int64   `json:"open_requests"`
		Read int64   `json:"read_requests"`
		Sec  float64 `json:"open_seconds"`
	}
	estimate := func(file string) (now, repacked cost) {
		out, stderr, code := run("verify", "--cloud", "--json", file)
		require.LessOrEqual(t, code, 1, stderr)
		var doc struct {
			Files []struct {
				XArray struct{ Now, Repacked cost } `json:"xarray"`
			} `json:"files"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		x := doc.Files[0].XArray
		return x.Now, x.Repacked
	}
	// The documented factor is 1.5, and a block more or less.
	near := func(t *testing.T, what string, estimated, counted int64) {
		t.Helper()
		t.Logf("%s: estimated %d requests, counted %d", what, estimated, counted)
		require.LessOrEqual(t, 2*estimated, 3*counted+2, what)
		require.LessOrEqual(t, 2*counted, 3*estimated+2, what)
	}
	names := []string{"small.nc", "scattered.nc", "chunked.nc"}
	args := []string{"-c", readerXArray, s.URL}
	for _, name := range names {
		_, stderr, code := run("repack", "--cloud", filepath.Join(dir, name), filepath.Join(dir, "cloud-"+name))
		require.Zero(t, code, stderr)
		args = append(args, name, "cloud-"+name)
	}
	out, err = exec.Command(python, args...).Output()
	require.NoError(t, err)
	counts := strings.Fields(string(out))
	require.Len(t, counts, 3*2*len(names))
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			counted := make([]int64, 6) // before, open and read, of the file and of its copy
			for j := range counted {
				counted[j], err = strconv.ParseInt(counts[6*i+j], 10, 64)
				require.NoError(t, err)
			}
			now, repacked := estimate(filepath.Join(dir, name))
			require.GreaterOrEqual(t, now.Sec, 0.03*float64(now.Open))
			near(t, "open", now.Open, counted[1]-counted[0])
			near(t, "read", now.Read, counted[2]-counted[0])
			near(t, "open after repack", repacked.Open, counted[4]-counted[3])
			near(t, "read after repack", repacked.Read, counted[5]-counted[3])
			if name == "scattered.nc" {
				require.Less(t, counted[4]-counted[3], counted[1]-counted[0])
			}
		})
	}
}
