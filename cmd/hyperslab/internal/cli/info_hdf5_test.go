// Tests of the storage of HDF5 datasets in info.

package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// layouts is a Python program. It writes datasets of every layout, and prints what h5py reports:
// the layout, the filters with their parameters, external files and virtual sources.
const layouts = `import json, os, sys
import h5py, numpy as np
os.chdir(sys.argv[1])
out = {}
def describe(f):
    for name, d in f.items():
        p = d.id.get_create_plist()
        kinds = {h5py.h5d.COMPACT: "compact", h5py.h5d.CONTIGUOUS: "contiguous", h5py.h5d.CHUNKED: "chunked", h5py.h5d.VIRTUAL: "virtual"}
        filters = [p.get_filter(i) for i in range(p.get_nfilters())]
        out[f.filename + ":/" + name] = dict(
            layout=kinds[p.get_layout()],
            filters=[[c, list(v)] for c, _, v, _ in filters],
            external=[[n.decode(), o, s] for n, o, s in (d.external or [])] if not d.external else [[n, o, s] for n, o, s in d.external],
            virtual=[[s.file_name, s.dset_name] for s in d.virtual_sources()] if d.is_virtual else [])
for libver, name in (("earliest", "old.h5"), ("v110", "new.h5")):
    with h5py.File(name, "w", libver=(libver, "v110")) as f:
        f["plain"] = np.arange(10)
        f.create_dataset("packed", data=np.arange(100), chunks=(10,), compression=7, shuffle=True, fletcher32=True)
        f.create_dataset("growing", data=np.arange(100), chunks=(10,), maxshape=(None,), scaleoffset=0)
        f.create_dataset("external", (10,), "i4", external=[("a.raw", 8, 20), ("b.raw", 0, h5py.h5f.UNLIMITED)])
        describe(f)
with h5py.File("virtual.h5", "w", libver="v110") as f:
    l = h5py.VirtualLayout((4, 100), "i8")
    l[0] = h5py.VirtualSource("old.h5", "packed", (100,))
    l[3, 50:] = h5py.VirtualSource("new.h5", "packed", (100,))[::2]
    f.create_virtual_dataset("v", l)
    describe(f)
with h5py.File("ordered.h5", "w") as f:
    g = f.create_group("ordered", track_order=True)
    g["plain"] = f["plain"] = np.arange(10)
with h5py.File("linked.h5", "w") as f:
    f["outside"] = h5py.ExternalLink("old.h5", "/plain")
json.dump(out, sys.stdout)`

func TestInfo_hdf5(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	out, err := exec.Command(python, "-c", layouts, dir).Output()
	require.NoError(t, err)
	var want map[string]struct {
		Layout                     string
		Filters, External, Virtual []any
	}
	require.NoError(t, json.Unmarshal(out, &want))
	require.Len(t, want, 9)
	type document struct {
		HDF5 *struct {
			Layout  string
			Index   *string `json:"chunk_index"`
			Filters []struct {
				ID         int
				Parameters []int
			}
			External []struct {
				File   string
				Offset int
				Bytes  *float64
			} `json:"external_files"`
			Mappings []struct{ Selection, File, Dataset, Source string } `json:"virtual_mappings"`
			Since    *string                                             `json:"readable_since"`
		}
	}
	info := func(address string, flags ...string) (d document) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(done(t, append([]string{"info", "--json", address}, flags...)...)), &d))
		return d
	}
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			d := info(filepath.Join(dir, name)).HDF5
			require.NotNil(t, d)
			require.Equal(t, w.Layout, d.Layout)
			require.Equal(t, w.Layout == "chunked", d.Index != nil)
			require.Len(t, d.Filters, len(w.Filters))
			for i, f := range d.Filters {
				got, err := json.Marshal([]any{f.ID, f.Parameters})
				require.NoError(t, err)
				peer, err := json.Marshal(w.Filters[i])
				require.NoError(t, err)
				require.JSONEq(t, string(peer), string(got))
			}
			require.Len(t, d.External, len(w.External))
			for i, x := range d.External {
				peer := w.External[i].([]any)
				require.Equal(t, peer[0], x.File)
				require.InDelta(t, peer[1], x.Offset, 0)
				if x.Bytes != nil {
					require.InDelta(t, peer[2], *x.Bytes, 0)
				}
			}
			require.Len(t, d.Mappings, len(w.Virtual))
			for i, m := range d.Mappings {
				require.Equal(t, []any{m.File, m.Dataset}, w.Virtual[i])
			}
		})
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	require.Equal(t, "version 1 B-tree", *info(at("old.h5:/packed")).HDF5.Index)
	require.Equal(t, "fixed array", *info(at("new.h5:/packed")).HDF5.Index)
	require.Equal(t, "extensible array", *info(at("new.h5:/growing")).HDF5.Index)
	for address, want := range map[string]string{
		"old.h5:/packed": "1.6", "new.h5:/packed": "1.10", "virtual.h5:/v": "1.10",
		"ordered.h5:/plain": "1.6", "ordered.h5:/ordered/plain": "1.8",
	} {
		require.Equal(t, want, *info(at(address)).HDF5.Since, address)
	}
	require.Nil(t, info(at("linked.h5:/outside")).HDF5.Since)
	require.NotContains(t, done(t, "info", at("linked.h5:/outside")), "readable since")
	done(t, "convert", at("old.h5:/plain"), at("one.h5:/x"))
	require.Equal(t, "contiguous", info(at("one.h5:/x")).HDF5.Layout)
	require.Nil(t, info(at("one.h5:/x"), "--untrusted").HDF5)
	text := done(t, "info", at("virtual.h5:/v"))
	require.Contains(t, text, "[3:4, 50:100] = new.h5:packed[0:99:2]")
	require.Contains(t, done(t, "info", at("old.h5:/external")), "a.raw at 8, 20 bytes")
	done(t, "convert", at("old.h5:/plain"), at("x.b2nd"))
	require.Nil(t, info(at("x.b2nd")).HDF5)
}
