# kerchunk.py REFERENCES FILE ARRAYS: opens kerchunk references (JSON, or Parquet in a directory)
# with xarray over fsspec, and compares each array with h5py.
import os
import sys

import h5py
import numpy as np
import xarray as xr
from fsspec.implementations.reference import LazyReferenceMapper, ReferenceFileSystem

references, name, count = sys.argv[1:]
parquet = os.path.isdir(references)


def variables(group):
    options = {"storage_options": {"fo": references, "remote_protocol": "file"}}
    ds = xr.open_dataset("reference://", engine="zarr", group=group, mask_and_scale=False, backend_kwargs=options)
    return ds.variables


with h5py.File(name) as f:
    groups = [""]
    f.visititems(lambda path, o: groups.append(path) if isinstance(o, h5py.Group) else None)
    compared = 0
    for group in groups:
        values = variables(group)
        for variable in values:
            want, got = f[f"{group}/{variable}"], values[variable]
            for part in [np.s_[..., :100], np.s_[..., -100:]]:
                np.testing.assert_array_equal(want[part], got[part].values)
        compared += len(values)
    assert compared == int(count), compared

if parquet:
    # Each chunk that h5py reports is at the same location with both Parquet libraries. fsspec with
    # pyarrow regards chunks that are not stored as locations, and so they are not compared.
    with h5py.File(name) as f:
        for engine in ["fastparquet", "pyarrow"]:
            refs = LazyReferenceMapper(references, engine=engine)
            fs = ReferenceFileSystem(references, remote_protocol="file")
            for path in ["g/chunked", "partial", "wide"]:
                d = f[path]
                chunks = []
                d.id.chunk_iter(chunks.append)
                for c in chunks:
                    key = path + "/" + ".".join(str(at // n) for at, n in zip(c.chunk_offset, d.chunks))
                    assert list(refs[key]) == [name, c.byte_offset, c.size], (key, refs[key])
                assert engine == "pyarrow" or fs.cat(key) == open(name, "rb").read()[c.byte_offset :][: c.size]
        missing = [key for key in ["partial/0", "partial/9"] if key in LazyReferenceMapper(references)]
        assert not missing, missing
