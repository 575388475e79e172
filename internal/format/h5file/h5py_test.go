// Tests of files that h5py writes with libver='latest'. They contain messages of HDF5 2.0.
package h5file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

const h5pyLatest = `
import h5py, json, numpy as np, sys
path = sys.argv[1]
if h5py.version.hdf5_version_tuple < (2, 0, 0):
    print(json.dumps({"hdf5": h5py.version.hdf5_version})); sys.exit()
x = np.arange(200, dtype="i4").reshape(20, 10)
doc = {"chunks": {}, "mappings": {}}
with h5py.File(path, "w", libver="latest") as f:
    for name, maxshape in {"fixed": (20, 10), "extensible": (None, 10), "tree": (None, None)}.items():
        f.create_dataset(name, data=x, chunks=(7, 4), maxshape=maxshape, compression="gzip", shuffle=True)
    f.create_dataset("single", data=x, chunks=x.shape, compression="gzip")
    f.create_dataset("unfiltered", data=x, chunks=(7, 4), maxshape=(None, None))
    f.create_dataset("plain", data=x)
    t, s = h5py.h5t, h5py.h5s
    for name in [n for n in dir(t) if n.startswith("COMPLEX_")]:
        h5py.h5d.create(f.id, name.encode(), getattr(t, name), s.create_simple((3,)))
    h5py.h5a.create(f["plain"].id, b"z", t.COMPLEX_IEEE_F64LE, s.create(s.SCALAR))
    for name, sources in {
        "same file": [("fixed", None), ("plain", None)],
        "shared names": [("/a long name of a dataset", "a long file name.h5")] * 4,
        "different names": [("/one", "a"), ("/two", "b")],
    }.items():
        layout = h5py.VirtualLayout((20 * len(sources), 10), "i4")
        for i, (dataset, file) in enumerate(sources):
            source = h5py.VirtualSource(f[dataset]) if file is None else h5py.VirtualSource(file, dataset, shape=(20, 10))
            layout[20 * i:20 * i + 20] = source
        f.create_virtual_dataset(name, layout)
with h5py.File(path) as f:
    for name, d in f.items():
        if d.is_virtual:
            doc["mappings"][name] = [[m.file_name, m.dset_name] for m in d.virtual_sources()]
        elif d.chunks:
            infos = [d.id.get_chunk_info(i) for i in range(d.id.get_num_chunks())]
            doc["chunks"][name] = sorted([list(i.chunk_offset), i.byte_offset, i.size, i.filter_mask] for i in infos)
print(json.dumps(doc))
`

func TestFile_h5pyLatest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	out := testutil.Python(t, []string{"h5py"}, "-c", h5pyLatest, path)
	var want struct {
		HDF5     string
		Chunks   map[string][][4]any
		Mappings map[string][][2]string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &want))
	if want.HDF5 != "" {
		testenv.Missing(t, "h5py with HDF5 2.0, not %s", want.HDF5)
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	f := mustOpen(t, b)
	require.NoError(t, f.Damage())
	versions := map[uint8]int{}
	for name, list := range want.Chunks {
		o := object(t, f, "/"+name)
		versions[o.Layout().Version]++
		got := map[string]bool{}
		for c, err := range o.Chunks() {
			require.NoError(t, err, name)
			line, err := json.Marshal([]any{c.Offset, c.Addr, c.Size, c.Mask})
			require.NoError(t, err)
			got[string(line)] = true
		}
		for _, c := range list {
			line, err := json.Marshal(c)
			require.NoError(t, err)
			require.True(t, got[string(line)], "%s: chunk %s in %v", name, line, got)
		}
		require.Len(t, got, len(list), name)
	}
	require.Equal(t, map[uint8]int{4: 1, 5: 4}, versions, "layouts of filtered chunks")
	for name, list := range want.Mappings {
		all, err := object(t, f, "/"+name).Mappings()
		require.NoError(t, err, name)
		got := [][2]string{}
		for _, m := range all {
			got = append(got, [2]string{m.File, m.Dataset})
		}
		require.Equal(t, list, got, name)
	}
	kinds := 0
	for e, err := range f.Walk() {
		require.NoError(t, err)
		if e.Object != nil && e.Object.Datatype() != nil && e.Object.Datatype().Class == h5file.ComplexClass {
			kinds++
		}
	}
	require.Equal(t, 6, kinds)
}

// writeUnused writes numbers that leave more than half of their bits unused, with the newest format
// or, by a change of the stored type, with the oldest one. It prints whether h5py reads them.
const writeUnused = `
import h5py, struct, sys, numpy as np
t = h5py.h5t.STD_I32LE.copy()
t.set_precision(10 if sys.argv[2] == "latest" else 27)
with h5py.File(sys.argv[1], "w", libver=(sys.argv[2], sys.argv[2] if sys.argv[2] == "latest" else "v108")) as f:
    x = h5py.h5d.create(f.id, b"x", t, h5py.h5s.create_simple((3,)))
    if sys.argv[2] == "latest":
        t.commit(f.id, b"t")
        h5py.h5d.create(f.id, b"typed", t, h5py.h5s.create_simple((3,)))
        for i in range(20): h5py.h5a.create(x, b"%d" % i, t, h5py.h5s.create(h5py.h5s.SCALAR)).write(np.array(i))
b = bytearray(open(sys.argv[1], "rb").read())
if sys.argv[2] != "latest":
    i = b.find(struct.pack("<HH", 0, 27))
    assert i > 0
    b[i + 2] = 10
    open(sys.argv[1], "wb").write(b)
try:
    with h5py.File(sys.argv[1]) as f: f["x"][...], dict(f["x"].attrs)
    print("reads")
except (KeyError, OSError, RuntimeError):
    print("fails")
`

// TestDatatype_unusedBits checks that numbers with many unused bits are valid where a checksum
// covers the type, as in libhdf5.
func TestDatatype_unusedBits(t *testing.T) {
	for low, want := range map[string]string{"latest": "reads", "earliest": "fails"} {
		path := filepath.Join(t.TempDir(), "x.h5")
		require.Equal(t, want, testutil.Python(t, []string{"h5py"}, "-c", writeUnused, path, low))
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		if err := mustOpen(t, b).Check(h5file.Policy{}); want == "reads" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "10 bits used of 32")
		}
	}
}

// writeSequence writes sequences without elements, one of which has an address. It prints whether
// h5py reads them.
const writeSequence = `
import h5py, sys
with h5py.File(sys.argv[1], "w") as f:
    d = f.create_dataset("x", (3,), h5py.vlen_dtype("i4"))
    d[0] = [1, 2]
    at = d.id.get_offset() + 2 * 16 + 4
if sys.argv[2] == "yes":
    with open(sys.argv[1], "r+b") as f:
        f.seek(at)
        f.write(b"\2")
try:
    with h5py.File(sys.argv[1]) as f: f["x"][:]
    print("reads")
except OSError:
    print("fails")
`

// TestSequence_address checks that a sequence without elements has no address or a valid one, as
// libhdf5 requires.
func TestSequence_address(t *testing.T) {
	for changed, want := range map[string]string{"no": "reads", "yes": "fails"} {
		path := filepath.Join(t.TempDir(), "x.h5")
		require.Equal(t, want, testutil.Python(t, []string{"h5py"}, "-c", writeSequence, path, changed))
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want == "reads", mustOpen(t, b).Check(h5file.Policy{}) == nil)
	}
}
