// Tests of index --kerchunk with the readers of references.

package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// referencesFile is a Python program. It writes a netCDF file whose root and group have dates,
// packed and missing values, strings, and arrays that are stored in part or shorter than their
// dimension. The times begin at the second argument.
const referencesFile = `import sys
import netCDF4, numpy as np
name, first = sys.argv[1], int(sys.argv[2])
with netCDF4.Dataset(name, "w") as f:
    f.createDimension("time", None); f.createDimension("x", 4)
    for g in [f, f.createGroup("g")]:
        t = g.createVariable("time", "i4", ("time",)); t.units = "hours since 2000-01-01 06:00"; t.calendar = "proleptic_gregorian"
        t[:] = [first, first + 1, first + 1000]
        v = g.createVariable("v", "i2", ("time", "x"), fill_value=-99, zlib=True, shuffle=True, chunksizes=(1, 4)); v.scale_factor = 0.5; v.add_offset = 10.0
        v[:] = np.ma.masked_equal(np.arange(12).reshape(3, 4) + first, 5)
        n = g.createVariable("n", "f4", ("x",), fill_value=np.nan, zlib=True, fletcher32=True); n[:] = [1, np.nan, 3, 4]
        q = g.createVariable("q", "f8", ("x",), fill_value=-1e30); q[:] = np.ma.masked_equal([1.5, 2, 3, 4], 2)
        s = g.createVariable("text", str, ("x",)); s[:] = np.array(["a", "b\u00fc", "", "dd"], "O")
        g.createVariable("scalar", "f8")[...] = 2.5
        p = g.createVariable("part", "i4", ("time", "x"), chunksizes=(1, 2), fill_value=7); p[1, 2:] = [7, 8]
        p = g.createVariable("unset", "i4", ("time", "x"), chunksizes=(1, 2)); p[1, 2:] = [7, 8]
`

// structuresFile is a Python program. It writes an HDF5 file with structures, references to
// objects, compact arrays, sub-arrays, and a large array without chunks.
const structuresFile = `import sys
import h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    for g in [f, f.create_group("g")]:
        g.create_dataset("struct", data=np.array([(1, 2.5), (3, -1)], [("a", "<i2"), ("b", "<f8")]))
        g.create_dataset("gaps", data=np.array([(1, 2.5), (3, -1)], np.dtype([("a", "i1"), ("b", "f8")], align=True)))
        big = g.create_dataset("big", data=np.arange(1500 * 1000, dtype="f8").reshape(1500, 1000))
        g.create_dataset("swapped", data=np.arange(100, dtype=">i4").reshape(10, 10), chunks=(4, 3), compression="gzip", shuffle=True)
        r = g.create_dataset("ref", (3,), h5py.ref_dtype); r[0] = big.ref; r[2] = g.ref
        s = g.create_dataset("text", (2,), h5py.string_dtype("ascii")); s[:] = ["x", "yy"]
        g.create_dataset("sub", (3,), np.dtype(("<i2", (2,))))[...] = np.arange(6, dtype="<i2").reshape(3, 2)
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE); p.set_layout(h5py.h5d.COMPACT)
        d = h5py.h5d.create(g.id, b"compact", h5py.h5t.IEEE_F32BE, h5py.h5s.create_simple((2,)), p)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1.5, -2], "f4"))
`

// TestRun_index_readers compares references with the file they are of, through xarray, zarr-python
// and VirtualiZarr.
func TestRun_index_readers(t *testing.T) {
	python := testenv.RemotePython(t, "xarray", "h5netcdf", "kerchunk", "fastparquet", "virtualizarr", "obstore")
	dir := t.TempDir()
	var files []string
	for name, first := range map[string]string{"a.nc": "0", "b.nc": "2000"} {
		file := filepath.Join(dir, name)
		out, err := exec.Command(testenv.Python(t, "netCDF4", "h5py"), "-c", referencesFile, file, first).CombinedOutput()
		require.NoError(t, err, "%s", out)
		files = append(files, file)
	}
	if files[0] > files[1] {
		files[0], files[1] = files[1], files[0]
	}
	compare := func(t *testing.T, files []string, args ...string) {
		for _, kind := range []string{"json", "parquet"} {
			t.Run(kind, func(t *testing.T) {
				to := filepath.Join(t.TempDir(), "references")
				index := append([]string{"index", "-o", to, "--kerchunk", kind}, files...)
				if len(args) > 0 {
					index = append(index, "--combine", args[0])
				}
				done(t, index...)
				out, err := exec.Command(python, append([]string{"testdata/references.py", strings.Join(files, ","), to}, args...)...).CombinedOutput()
				require.NoError(t, err, "%s", out)
			})
		}
	}
	t.Run("one file", func(t *testing.T) { compare(t, files[:1]) })
	t.Run("joined", func(t *testing.T) { compare(t, files, "time") })
	t.Run("structures", func(t *testing.T) {
		file := filepath.Join(dir, "s.h5")
		out, err := exec.Command(testenv.Python(t, "h5py"), "-c", structuresFile, file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		compare(t, []string{file})
	})
}

func TestRun_index_leftOut(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.h5")
	indexFile(t, file)
	create(t, file+":/g/old", ndarray.Spec{Shape: []int64{100}, Compression: &ndarray.Compression{Codec: "lzf"}}, make([]int32, 100))
	index := func(args ...string) (string, string, int) {
		return run(append([]string{"index", file, "-f", "-o", dir + "/x.json", "--kerchunk", "json"}, args...)...)
	}
	_, stderr, code := index()
	require.Equal(t, 2, code)
	require.Contains(t, stderr, file+":/g/old: unsupported operation in Zarr: no codec for the filter lzf (32000)")
	stdout, stderr, code := index("--skip-unreadable", "--json")
	require.Equal(t, 3, code, stderr)
	require.Contains(t, stderr, "left out: "+file+":/g/old: ")
	var doc struct {
		LeftOut []struct{ File, Path, Reason, Filter string } `json:"left_out"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Len(t, doc.LeftOut, 1)
	require.Equal(t, file, doc.LeftOut[0].File)
	require.Equal(t, "/g/old", doc.LeftOut[0].Path)
	require.Equal(t, "lzf (32000)", doc.LeftOut[0].Filter)
	_, stderr, code = index("--exclude", "old")
	require.Zero(t, code, stderr)
	for _, args := range [][]string{{"--combine", "depth"}, {"--exclude", "["}, {"--combine", "y", "--into", dir},
		{"--combine", "y", "--url", "https://user:secret@example.com/x/"}, {"--combine", "y", "--url", "https://example.com/x?secret"}} {
		_, stderr, code = index(args...)
		require.Equal(t, 2, code, stderr)
	}
	_, stderr, code = run("index", file, "-o", dir+"/y.index", "--skip-unreadable")
	require.Equal(t, 2, code, stderr)
}
