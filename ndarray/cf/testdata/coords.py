"""Coordinates by xarray.

coords.py write FILE writes variables with coordinates of their own group, of groups above, and with
auxiliary coordinates. coords.py read FILE prints for each variable of each group the coordinates
that xarray gives it as JSON: those of its dimensions, and those in its attribute coordinates.
"""
import json
import sys
import warnings

import netCDF4
import numpy as np
import xarray as xr

warnings.simplefilter("ignore")


def write(path):
    with netCDF4.Dataset(path, "w") as f:
        def var(group, name, kind, dims, **attrs):
            v = group.createVariable(name, kind, dims)
            v.setncatts(attrs)
            v[...] = (np.arange(v.size) * 1.5 + len(name)).reshape(v.shape).astype(kind) if v.size else 0

        for name, n in (("time", 3), ("lat", 4), ("lon", 5), ("none", 2), ("station", 4)):
            f.createDimension(name, n)
        f.createDimension("open", None)
        var(f, "time", "f8", ("time",), units="days since 2000-01-01")
        var(f, "lat", "f4", ("lat",), units="degrees_north")
        var(f, "lon", "i4", ("lon",), units="degrees_east")
        var(f, "open", "i2", ("open",))
        f["open"][:] = [5, 6]
        var(f, "height", "f4", ())
        var(f, "lat2d", "f8", ("lat", "lon"))
        var(f, "lon2d", "f8", ("lat", "lon"))
        var(f, "surface", "f8", ("lat",))
        var(f, "t2m", "f4", ("time", "lat", "lon"), coordinates="height lat2d lon2d surface missing time")
        var(f, "bare", "i2", ("none", "lat"))
        var(f, "grown", "i2", ("open", "none"), coordinates="lat2d")
        var(f, "point", "f4", ("station",), coordinates="height")
        var(f, "scalar", "f4", (), coordinates="height")
        g = f.createGroup("g")
        var(g, "v", "i2", ("time", "lon"))
        g.createDimension("level", 2)
        var(g, "level", "f4", ("level",), positive="down")
        var(g, "w", "i2", ("level", "lat", "lon"), coordinates="area")
        var(g, "area", "f8", ("lat", "lon"))
        h = g.createGroup("h")
        var(h, "deep", "i2", ("time", "level"))
        h.createDimension("member", 3)
        var(h, "member", "i4", ("member",))
        var(h, "both", "i2", ("member", "time"))


def read(path):
    out = []
    for node in xr.open_datatree(path, engine="netcdf4", decode_times=False, mask_and_scale=False).subtree:
        ds = node.to_dataset(inherit=True)
        for name, v in ds.variables.items():
            if name not in node.to_dataset(inherit=False).variables:
                continue
            named = set(v.encoding.get("coordinates", v.attrs.get("coordinates", "")).split())
            coords = {}
            for c, x in ds[name].coords.items():
                if c in v.dims or c in named:
                    coords[c] = dict(dims=list(x.dims), values=[float(e) for e in np.asarray(x.values, "f8").flat])
            out.append(dict(path=node.path.rstrip("/") + "/" + name, coords=coords))
    json.dump(out, sys.stdout)


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    read(sys.argv[2])
