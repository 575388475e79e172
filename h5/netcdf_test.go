package h5_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// A netCDF copies a netCDF-4 file with functions of package h5 only: groups and attributes in
// creation order, committed types and dimension scales.
type netCDF struct {
	t     *testing.T
	from  *h5.File
	types map[uint64]h5.Datatype // types of the new file by address in the old file
}

// ofScales are the attributes that the functions for dimension scales write.
var ofScales = map[string]bool{"CLASS": true, "NAME": true, "DIMENSION_LIST": true, "REFERENCE_LIST": true}

func rewriteNetCDF(t *testing.T, from, to string) {
	t.Helper()
	old, err := h5.Open(from, h5.ReadOnly)
	require.NoError(t, err)
	defer old.Close()
	layout := h5.DefaultFileCreation()
	layout.LinkOrder, layout.AttrOrder = h5.IndexedCreationOrder, h5.IndexedCreationOrder
	f, err := h5.Create(to, &h5.CreateOptions{Truncate: true, Low: h5.V18, High: h5.LatestFormat, Creation: &layout})
	require.NoError(t, err)
	n := netCDF{t, old, map[uint64]h5.Datatype{}}
	n.group(old.Root(), f.Root())
	n.scales(old.Root(), f.Root())
	require.NoError(t, f.Close())
}

// committed returns the new file's datatype for a datatype of the old file.
func (n *netCDF) committed(dt h5.Datatype) h5.Datatype {
	if shared, ok := n.types[dt.Committed]; ok && dt.Committed != 0 {
		return shared
	}
	return dt
}

func (n *netCDF) attributes(old, made h5.Object) {
	order := h5.ByCreation
	for _, err := range old.AttributesIn(order) {
		if errors.Is(err, h5.ErrNoOrder) {
			order = h5.AsStored
		}
	}
	for a, err := range old.AttributesIn(order) {
		require.NoError(n.t, err)
		if ofScales[a.Name] {
			continue
		}
		v, err := old.ReadAttribute(a.Name)
		require.NoError(n.t, err)
		v.Datatype = n.committed(v.Datatype)
		require.NoError(n.t, made.WriteAttribute(v), a.Name)
	}
}

func (n *netCDF) group(old, made *h5.Group) {
	t := n.t
	n.attributes(old, made)
	for l, err := range old.LinksIn(h5.ByCreation) {
		require.NoError(t, err)
		o, err := old.OpenObject(l.Name)
		require.NoError(t, err)
		switch o := o.(type) {
		case *h5.Group:
			g, err := made.CreateGroupWith(l.Name, &h5.GroupOptions{Order: h5.IndexedCreationOrder, AttributeOrder: h5.IndexedCreationOrder})
			require.NoError(t, err)
			n.group(o, g)
		case *h5.CommittedType:
			dt, err := o.Datatype()
			require.NoError(t, err)
			c, err := made.CommitDatatype(l.Name, dt)
			require.NoError(t, err)
			info, err := o.Stat()
			require.NoError(t, err)
			n.types[info.Address], err = c.Shared()
			require.NoError(t, err)
		case *h5.Dataset:
			n.dataset(o, made, l.Name)
		}
	}
}

func (n *netCDF) dataset(old *h5.Dataset, in *h5.Group, name string) {
	t := n.t
	info, err := old.Info()
	require.NoError(t, err)
	d, err := in.CreateDataset(name, n.committed(info.Datatype), info.Space, &h5.DatasetOptions{
		Compact: info.Layout == h5.Compact, ChunkShape: info.ChunkShape, Filters: info.Filters, Fill: info.Fill, FillTime: info.FillTime,
		AttributeOrder: h5.IndexedCreationOrder,
	})
	require.NoError(t, err, name)
	if scale, is, err := old.ScaleName(); err == nil && is {
		require.NoError(t, d.MakeScale(scale))
	}
	n.attributes(old, d)
	stored, _, err := old.Stored()
	require.NoError(t, err)
	if stored > 0 {
		v, err := old.ReadValues(info.Datatype, h5.All, -1)
		require.NoError(t, err)
		v.Datatype = n.committed(v.Datatype)
		require.NoError(t, d.WriteValues(v, h5.All), name)
	}
}

// scales attaches dimension scales to the new datasets as in the old file.
func (n *netCDF) scales(old, made *h5.Group) {
	t := n.t
	for l, err := range old.Links() {
		require.NoError(t, err)
		o, err := old.OpenObject(l.Name)
		require.NoError(t, err)
		switch o := o.(type) {
		case *h5.Group:
			g, err := made.OpenGroup(l.Name)
			require.NoError(t, err)
			n.scales(o, g)
		case *h5.Dataset:
			info, err := o.Info()
			require.NoError(t, err)
			d, err := made.OpenDataset(l.Name)
			require.NoError(t, err)
			for axis := range info.Space.Dims {
				for s, err := range o.Scales(axis) {
					require.NoError(t, err)
					scale, err := made.OpenDataset(s.Path)
					require.NoError(t, err)
					require.NoError(t, d.AttachScale(axis, scale))
					require.NoError(t, scale.Close())
				}
			}
		}
	}
}

// realNetCDF returns files made by other programs: one in the repository, and those that `make
// demo` downloaded and converted, if any.
func realNetCDF(t *testing.T) []string {
	t.Helper()
	files := []string{filepath.Join("..", "testdata", "etopo120.h5")}
	for _, pattern := range []string{"coads_climatology.h5", "gmt-gshhg-low/usr/share/gmt-gshhg/*_c.nc"} {
		found, err := filepath.Glob(filepath.Join("..", ".demo", pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	return files
}

// modules are the Python packages to compare with: netCDF's own library, and h5netcdf, which
// implements its data model with h5py.
var modules = []string{"netCDF4", "h5netcdf"}

// describeNetCDF is a Python script that prints everything netCDF's own library reads from files.
const describeNetCDF = `
import json, sys, zlib, numpy as np, netCDF4
def plain(v):
    if isinstance(v, np.ndarray): return [plain(x) for x in v] if v.dtype == object or v.dtype.names else [str(v.dtype), v.shape, zlib.crc32(np.ascontiguousarray(v).tobytes())]
    if isinstance(v, np.void): return [plain(v[n]) for n in v.dtype.names]
    return repr(v)
def group(g):
    g.set_auto_maskandscale(False)
    g.set_auto_chartostring(False)
    return {
        "dimensions": [(n, len(d), d.isunlimited()) for n, d in g.dimensions.items()],
        "types": [(k, n, repr(t.enum_dict if k == "enumtypes" else t.dtype)) for k in ["enumtypes", "cmptypes", "vltypes"] for n, t in getattr(g, k).items()],
        "variables": [(n, v.dimensions, str(v.dtype), v.chunking(), repr(v.filters()), v.endian(), v.shape, plain(v[...]), [(a, plain(v.getncattr(a))) for a in v.ncattrs()]) for n, v in g.variables.items()],
        "attributes": [(a, plain(g.getncattr(a))) for a in g.ncattrs()],
        "groups": {n: group(x) for n, x in g.groups.items()},
    }
def describe(path):
    with netCDF4.Dataset(path) as f:
        return group(f)
`

// TestNetCDF copies netCDF-4 files, real ones and one with every feature of the data model.
// netCDF's own library and h5netcdf must read the same from the copy as from the original.
func TestNetCDF(t *testing.T) {
	dir := t.TempDir()
	all := filepath.Join(dir, "all.nc")
	pythonWith(t, modules, describeNetCDF+`
with netCDF4.Dataset(sys.argv[1], "w") as f:
    for n, size in [("x", 4), ("y", 3), ("time", None), ("lonely", 7), ("chars", 5)]:
        f.createDimension(n, size)
    f.title, f.numbers, f.text = "Grüße", np.arange(3, dtype=">i2"), ["a", "bc"]
    for i, dt in enumerate(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "S1"]):
        for endian in ["little", "big"] if dt != "S1" else ["native"]:
            v = f.createVariable("v_%s_%s" % (dt, endian), dt if endian != "big" else ">" + dt, ("y", "x"), endian=endian, zlib=i % 2 == 0, fletcher32=i % 3 == 0, fill_value=False if i % 4 == 0 else None)
            v[:] = np.arange(12).reshape(3, 4).astype(dt)
            v.setncattr("att", np.array([1, 2], dt) if dt != "S1" else "text")
    f.createVariable("x", "f8", ("x",))[:] = [0, .5, 1, 1.5]
    f["x"].units = "m"
    f.createVariable("time", "i4", ("time",))[:] = [1, 2]
    f.createVariable("both", "f4", ("time", "y", "x"), zlib=True, chunksizes=(1, 2, 4))[:] = np.arange(24).reshape(2, 3, 4)
    f.createVariable("scalar", "i4")[:] = 42
    f.createVariable("words", str, ("y",))[:] = np.array(["a", "Grüße", ""], object)
    f.createVariable("letters", "S1", ("y", "chars"))[:] = netCDF4.stringtochar(np.array(["ab", "cde", ""], "S5"))
    f.createVariable("y", "i2", ("y", "x"))[:] = 5 # a coordinate variable of two dimensions
    f.createVariable("lonely", "i2", ("x",))[:] = 6 # and one that is none, but for its name
    f.createVariable("contiguous", "f8", ("y", "x"), contiguous=True)[:] = 1
    color = f.createEnumType("u1", "color", {"red": 0, "green": 7})
    f.createVariable("colors", color, ("y",), fill_value=0)[:] = [7, 0, 7]
    pair = f.createCompoundType(np.dtype([("a", "i4"), ("b", "f8", (2,))]), "pair")
    f.createVariable("pairs", pair, ("y",))[:] = np.array([(1, [2, 3])] * 3, pair.dtype)
    ragged = f.createVLType("i2", "ragged")
    v = f.createVariable("rows", ragged, ("y",))
    for i in range(3): v[i] = np.arange(i, dtype="i2")
    g = f.createGroup("inner/deeper")
    g.createDimension("z", 2)
    g.createVariable("v", "f4", ("z", "x"))[:] = 3
    g.note = "below"
`, all)
	files := append(realNetCDF(t), all)
	var paths []string
	for i, file := range files {
		ours := filepath.Join(dir, string(rune('a'+i))+".h5")
		rewriteNetCDF(t, file, ours)
		paths = append(paths, file, ours)
	}
	out := pythonWith(t, modules, describeNetCDF+`
import h5netcdf
def seen(g):
    sums = {n: [v.dimensions, str(v.dtype), plain(np.asarray(v[...]))] for n, v in g.variables.items() if v.dtype.kind != "V"}
    return [{n: d.size for n, d in g.dimensions.items()}, sums, {n: seen(x) for n, x in g.groups.items()}]
for a, b in zip(sys.argv[1::2], sys.argv[2::2]):
    x, y = describe(a), describe(b)
    for k in x:
        for p, q in zip(x[k], y[k]):
            assert p == q, (a, k, p, q)
    assert x == y, a
    with h5netcdf.File(a, "r") as f, h5netcdf.File(b, "r") as g:
        assert seen(f) == seen(g), a
print("same", len(sys.argv) // 2)
`, paths...)
	require.Contains(t, out, "same")
}

// TestNetCDF_tools checks that ncdump prints, and nccopy copies, the copied file with the same
// result as the original. The tools are in the Debian package netcdf-bin.
func TestNetCDF_tools(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		out, err := exec.Command(testenv.Program(t, name), args...).CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return string(out)
	}
	for _, file := range realNetCDF(t) {
		if facts, err := os.Stat(file); err != nil || facts.Size() > 1<<20 {
			continue // ncdump would print all its numbers: TestNetCDF compares checksums
		}
		ours, copied := filepath.Join(dir, "ours.h5"), filepath.Join(dir, "copied.nc")
		rewriteNetCDF(t, file, ours)
		want := run("ncdump", "-n", "it", file)
		require.Equal(t, want, run("ncdump", "-n", "it", ours), file)
		for _, kind := range []string{"nc4", "nc7"} { // netCDF-4, and its classic model
			run("nccopy", "-k", kind, ours, copied)
			require.Equal(t, want, run("ncdump", "-n", "it", copied), "%s as %s", file, kind)
			if kind == "nc4" {
				rewriteNetCDF(t, copied, ours)
				require.Equal(t, want, run("ncdump", "-n", "it", ours), file)
			}
		}
	}
}

// TestNetCDF_plainFiles checks HDF5 files that were not written for netCDF. Datasets without scales
// must get one anonymous dimension for each length, but two different ones within a dataset.
func TestNetCDF_plainFiles(t *testing.T) {
	f := newFile(t)
	for name, shape := range map[string][]int64{"g/a": {3, 4}, "g/b": {4}, "g/c": {4, 4}} {
		_, err := f.Root().CreateDataset(name, h5.Int(4, h5.BigEndian), h5.SimpleSpace(shape...), nil)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	var got struct {
		Netcdf4, H5netcdf map[string][]string
		Sizes             map[string]int
	}
	require.NoError(t, json.Unmarshal([]byte(pythonWith(t, modules, `
import json, sys, netCDF4, h5netcdf
with netCDF4.Dataset(sys.argv[1]) as f:
    g = f["g"]
    a = {n: v.dimensions for n, v in g.variables.items()}
    sizes = {n: len(d) for n, d in g.dimensions.items()}
with h5netcdf.File(sys.argv[1], "r", phony_dims="sort") as f:
    b = {n: v.dimensions for n, v in f["g"].variables.items()}
print(json.dumps({"Netcdf4": a, "H5netcdf": b, "Sizes": sizes}))
`, f.Path())), &got))
	for _, dims := range []map[string][]string{got.Netcdf4, got.H5netcdf} {
		require.Len(t, dims, 3)
		require.Equal(t, dims["a"][1], dims["b"][0], "of one length: one dimension")
		require.NotEqual(t, dims["c"][0], dims["c"][1], "but not twice in a variable")
		for _, names := range dims {
			for _, name := range names {
				require.True(t, strings.HasPrefix(name, "phony_dim_"), name)
			}
		}
	}
	require.Equal(t, 4, got.Sizes[got.Netcdf4["b"][0]])
}
