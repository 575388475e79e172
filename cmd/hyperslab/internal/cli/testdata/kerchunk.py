# kerchunk.py REFERENCES FILE: opens kerchunk references with xarray, and compares each array with
# h5py.
import sys

import h5py
import numpy as np
import xarray as xr

references, name = sys.argv[1:]
with h5py.File(name) as f:
    groups = [""]
    f.visititems(lambda path, o: groups.append(path) if isinstance(o, h5py.Group) else None)
    compared = 0
    for group in groups:
        options = {"fo": references, "remote_protocol": "file"}
        ds = xr.open_dataset("reference://", group=group, engine="zarr", mask_and_scale=False, backend_kwargs={"consolidated": False, "storage_options": options})
        for variable in ds.variables:
            np.testing.assert_array_equal(f[f"{group}/{variable}"][()], ds[variable].values)
            compared += 1
    assert compared == 3, compared
