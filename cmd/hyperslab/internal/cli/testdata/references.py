# references.py FILES REFERENCES [DIM]: opens kerchunk references (JSON, or Parquet in a directory) with zarr-python,
# xarray and VirtualiZarr, and compares each array with xarray's reading of the files (separated by commas): dimensions,
# dates, missing values, strings, references and structures. Files without the name
# .nc are compared with h5py. With DIM the files are joined along it.
import os
import sys
import warnings

import h5py
import numpy as np
import xarray as xr

warnings.simplefilter("ignore")
files, references = sys.argv[1].split(","), sys.argv[2]
along = sys.argv[3] if len(sys.argv) > 3 else None
parquet = os.path.isdir(references)


def same(want, got, names):
    for name in names:
        w, g = want[name], got[name]
        assert w.dims == g.dims, (name, w.dims, g.dims)
        a, b = np.asarray(w.values), np.asarray(g.values)
        if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
            text = lambda x: [v.decode() if isinstance(v, bytes) else v for v in np.asarray(x, "O").ravel().tolist()]
            assert text(a) == text(b), name
        elif a.dtype.names:
            assert a.dtype.names == b.dtype.names and all((a[n] == b[n]).all() for n in a.dtype.names), name
        else:
            np.testing.assert_array_equal(a, b, name)


def groups():
    found = [""]
    with h5py.File(files[0]) as f:
        f.visititems(lambda path, o: found.append(path) if isinstance(o, h5py.Group) else None)
    return found


def h5array(f, d):
    """The elements as in the references: strings are decoded, and references are paths."""
    if h5py.check_ref_dtype(d.dtype):
        return np.array([f[r].name if r else "" for r in d[...]], "O")
    return d.asstr()[...] if h5py.check_string_dtype(d.dtype) else d[...]


def want(group, **more):
    if not files[0].endswith(".nc"):
        with h5py.File(files[0]) as f:
            return {n: xr.Variable(got[n].dims, h5array(f, o)) for n, o in f[group or "/"].items() if n in got.variables}
    one = [xr.open_dataset(f, engine="h5netcdf", group=group or None, **more) for f in files]
    if along is None:
        return one[0]
    return xr.concat(one, along, data_vars="minimal", coords="minimal", compat="override", join="override", combine_attrs="override")


def arrays(group):
    with h5py.File(files[0]) as f:
        return sorted(n for n, o in f[group or "/"].items() if isinstance(o, h5py.Dataset) and not o.attrs.get("NAME", b"").startswith(b"This is a netCDF dimension"))


compared = 0
for group in groups():
    names = arrays(group)
    # zarr-python lists a group of references with consolidated metadata only.
    options = {"consolidated": bool(group), "storage_options": {"fo": references, "remote_protocol": "file"}}
    got = xr.open_dataset("reference://", engine="zarr", group=group or None, backend_kwargs=options)
    raw = xr.open_dataset("reference://", engine="zarr", group=group or None, mask_and_scale=False, decode_times=False, backend_kwargs=options)
    assert sorted(got.variables) == names, (group, sorted(got.variables), names)
    same(want(group), got, [n for n in names if n != "unset"])
    same(want(group, mask_and_scale=False, decode_times=False), raw, names)
    compared += len(names)

if not parquet:
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import KerchunkJSONParser

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    # It reads no elements in the references, no structures, no scalars and no arrays without their last chunk.
    inline = ["text", "ref", "gaps", "struct", "compact", "part", "unset", "sub", "scalar"] + [along]
    for group in groups():
        store = KerchunkJSONParser(group=group or None, skip_variables=inline)("file://" + references, registry)
        got = xr.open_zarr(store, consolidated=False, zarr_format=3)
        names = [n for n in arrays(group) if n not in inline]
        assert sorted(got.variables) == names, (group, sorted(got.variables), names)
        same(want(group), got, names)
        compared += len(names)
print(compared, flush=True)
os._exit(0)  # threads of the readers sometimes abort the process while the interpreter ends
