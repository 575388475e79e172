// Tests of dump --csv --coords.

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// gridFile is a Python program. It writes an array with scales in its own group, in another group,
// and with another name than that of the dimension, and with one dimension without a scale.
const gridFile = `import h5py, numpy as np, sys
with h5py.File("grid.h5", "w") as f:
    f["time"] = np.array([0, 6, 12], "i4")
    f["time"].attrs["units"] = "hours since 2020-01-01"
    f["other/lat"] = np.array([-45.5, 45.25], "f8")
    f["g/lon"] = np.array(["w", "m", "e", "x"], "S1")
    for s in ("time", "other/lat", "g/lon"):
        f[s].make_scale(s.split("/")[-1])
    d = f.create_dataset("g/t", data=np.arange(48, dtype="f4").reshape(3, 2, 4, 2) / 8, chunks=(2, 2, 3, 1))
    for axis, s in enumerate(("time", "other/lat", "g/lon")):
        d.dims[axis].attach_scale(f[s])
    d.attrs["scale_factor"] = 2.0
    f["g/time"] = np.arange(100, 103) # not the scale
    f["empty"] = np.zeros((0, 3))
    r = f.create_dataset("g/r", data=np.array([(1, (2, 3)), (4, (5, 6))], [("a", "i4"), ("b", "i2", 2)]))
    r.dims[0].attach_scale(f["other/lat"])
    f["plain"] = np.arange(4).reshape(2, 2)
`

// sameTable is a Python program. It compares the CSV of each selection in its arguments with the
// table that xarray makes of that selection. The CSV of the first one is in 0.csv.
const sameTable = `import h5py, numpy as np, pandas as pd, sys, xarray as xr
with h5py.File("grid.h5") as f:
    t = xr.DataArray(f["g/t"][:], dims=("time", "lat", "lon", "axis3"), name="t",
        coords={"time": f["time"][:], "lat": f["other/lat"][:], "lon": f["g/lon"][:].astype("U1"), "axis3": np.arange(2)})
names = ["time", "lat", "lon", "axis3", "t"]
for i, selection in enumerate(sys.argv[1:]):
    print("selection", selection)
    want = t[eval("np.s_[" + selection + "]")]
    if not want.shape:
        want = want.expand_dims("axis3")
    want = want.to_dataframe().reset_index()
    got = pd.read_csv("%d.csv" % i)
    assert list(got.columns) == names, got.columns
    pd.testing.assert_frame_equal(got, want[names], check_dtype=False)
`

func TestDump_coords(t *testing.T) {
	python := testenv.RemotePython(t, "xarray", "h5py", "pandas")
	t.Chdir(t.TempDir())
	out, err := exec.Command(python, "-c", gridFile).CombinedOutput()
	require.NoError(t, err, "%s", out)
	selections := []string{"...", "1:, 0, ::-1", "2, 1:2, 1:2, 1:", "0, 0, 0, 1", "::2, :, 3, 0", "[0, 2], :, 1:3"}
	for i, selection := range selections {
		csv := done(t, "dump", "grid.h5:/g/t["+selection+"]", "--csv", "--coords")
		require.NoError(t, os.WriteFile(fmt.Sprintf("%d.csv", i), []byte(csv), 0o600))
	}
	out, err = exec.Command(python, append([]string{"-c", sameTable}, selections...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for args, want := range map[string]string{
		"grid.h5:/g/t[2,1,0] --unpack":    "time,lat,lon,axis3,t\n2020-01-01T12:00:00.000000,45.25,w,0,10\n2020-01-01T12:00:00.000000,45.25,w,1,10.25\n",
		"grid.h5:/g/r":                    "lat,a,b\n-45.5,1,\"[2,3]\"\n45.25,4,\"[5,6]\"\n",
		"grid.h5:/g/r[1:].b":              "lat,b\n45.25,5\n45.25,6\n",
		"grid.h5:/plain --no-header":      "0,0,0\n0,1,1\n1,0,2\n1,1,3\n",
		"grid.h5:/empty":                  "axis0,axis1,empty\n",
		"grid.h5:/g/t[0,0,0] --untrusted": "time,lat,lon,axis3,t\n0,-45.5,w,0,0\n0,-45.5,w,1,0.125\n",
	} {
		t.Run(args, func(t *testing.T) {
			require.Equal(t, want, done(t, append([]string{"dump", "--csv", "--coords"}, strings.Fields(args)...)...))
		})
	}
	done(t, "convert", "grid.h5", "tree", "--exclude-unsupported", "-q")
	require.Equal(t, "time,lat,lon,axis3,t\n100,0,m,0,0.25\n", done(t, "dump", "tree:/g/t[0,0,1,:1]", "--csv", "--coords"), "by the name of the dimension")
	for _, flags := range []string{"--coords", "--csv --coords --index", "--json --coords"} {
		_, stderr, code := run(append([]string{"dump", "grid.h5:/plain"}, strings.Fields(flags)...)...)
		require.Equal(t, 2, code, flags)
		require.Contains(t, stderr, "coords", flags)
	}
}

// dimensionsFile is a Python program. It writes a netCDF file with dimensions that have no
// variable. One of them hides a coordinate of a group above.
const dimensionsFile = `import netCDF4, numpy as np
with netCDF4.Dataset("d.nc", "w") as f:
    f.createDimension("t", 2); f.createDimension("x", 3); f.createDimension("u", None)
    f.createVariable("t", "f8", ("t",))[:] = [10, 20]
    f.createVariable("v", "i4", ("t", "x"))[:] = np.arange(6).reshape(2, 3)
    f.createVariable("w", "i2", ("u",))[:] = [5, 6]
    g = f.createGroup("g"); g.createDimension("t", 2)
    g.createVariable("z", "i2", ("t", "x"))[:] = np.arange(6).reshape(2, 3)
`

// TestDump_coordsPlaceholder checks that the scales that netCDF creates for dimensions without a
// variable are no coordinates.
func TestDump_coordsPlaceholder(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := exec.Command(testenv.Python(t, "netCDF4", "numpy"), "-c", dimensionsFile).CombinedOutput()
	require.NoError(t, err, "%s", out)
	const v = "t,x,v\n10,0,0\n10,1,1\n10,2,2\n20,0,3\n20,1,4\n20,2,5\n"
	z := "t,x,z\n0,0,0\n0,1,1\n0,2,2\n1,0,3\n1,1,4\n1,2,5\n"
	for _, flags := range [][]string{nil, {"--untrusted"}, {"--unpack"}} {
		csv := func(address string) string {
			return done(t, append([]string{"dump", address, "--csv", "--coords"}, flags...)...)
		}
		require.Equal(t, v, csv("d.nc:/v"), flags)
		require.Equal(t, "u,w\n0,5\n1,6\n", csv("d.nc:/w"), flags)
		require.Equal(t, z, csv("d.nc:/g/z"), flags)
	}
	for _, to := range []string{"alone", "alone.h5"} {
		done(t, "convert", "d.nc:/v", to, "--with-coordinates", "-q")
		list := done(t, "ls", "-r", to)
		require.Contains(t, list, "/t")
		require.NotContains(t, list, "/x")
		require.Equal(t, v, done(t, "dump", to+":/v", "--csv", "--coords"))
	}
	done(t, "convert", "d.nc", "all", "--exclude-unsupported", "-q")
	require.Equal(t, v, done(t, "dump", "all:/v", "--csv", "--coords"))
	require.Contains(t, done(t, "info", "d.nc:/v"), "t, x")
}

// groupsFile is a Python program. It writes a netCDF file with a variable whose coordinates are in
// groups above it and in another group.
const groupsFile = `import netCDF4, numpy as np
with netCDF4.Dataset("groups.nc", "w") as f:
    f.createDimension("t", 2); f.createDimension("y", 3); f.createDimension("vertices", 2)
    t = f.createVariable("t", "i4", ("t",)); t[:] = [1, 2]; t.units = "days since 2000-01-01"; t.bounds = "t_bounds"
    f.createVariable("t_bounds", "i4", ("t", "vertices"))[:] = [[0, 1], [1, 2]]
    f.createVariable("y", "i2", ("y",))[:] = [10, 20, 30]
    f["y"].scale_factor = "x"
    other = f.createGroup("other")
    other.createVariable("area", "f4", ("y",))[:] = 1
    other.createVariable("unused", "f4", ("y",))[:] = 1
    v = f.createGroup("product").createGroup("inner").createVariable("v", "i4", ("t", "y"))
    v[:] = np.arange(6).reshape(2, 3)
    v.coordinates = "/other/area ../../y nowhere"
`

// TestDump_coordsGroups checks that commands find the coordinates of groups above an array and of
// other groups, and report the names that lead nowhere.
func TestDump_coordsGroups(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := exec.Command(testenv.Python(t, "netCDF4", "numpy"), "-c", groupsFile).CombinedOutput()
	require.NoError(t, err, "%s", out)
	const address = "groups.nc:/product/inner/v"
	const want = "t,y,v\n2000-01-02T00:00:00.000000,10,0\n2000-01-02T00:00:00.000000,20,1\n2000-01-02T00:00:00.000000,30,2\n" +
		"2000-01-03T00:00:00.000000,10,3\n2000-01-03T00:00:00.000000,20,4\n2000-01-03T00:00:00.000000,30,5\n"
	for _, flags := range [][]string{nil, {"--untrusted"}} {
		got, stderr, code := run(append([]string{"dump", address, "--csv", "--coords", "--unpack"}, flags...)...)
		require.Zero(t, code, stderr)
		require.Equal(t, want, got)
		require.Contains(t, stderr, `/product/inner/v: attribute coordinates: there is no array "nowhere"`)
		require.Contains(t, stderr, "/y: attribute scale_factor: got a string, want a number")
	}
	_, stderr, code := run("convert", address, "to.h5", "--with-coordinates", "-q")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, `there is no array "nowhere"`)
	list := done(t, "ls", "-r", "to.h5")
	for _, path := range []string{"/t ", "/t_bounds ", "/y ", "/other/area ", "/product/inner/v "} {
		require.Contains(t, list, path)
	}
	require.NotContains(t, list, "unused")
	require.Equal(t, want, done(t, "dump", "to.h5:/product/inner/v", "--csv", "--coords", "--unpack"))
}
