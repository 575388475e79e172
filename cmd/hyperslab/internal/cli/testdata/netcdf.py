"""Writes an ordinary netCDF-4 file (write FILE), and checks files that must equal it (check FILE …)."""
import sys

import h5netcdf
import netCDF4
import numpy as np

if sys.argv[1] == "write":
    with netCDF4.Dataset(sys.argv[2], "w") as f:
        f.title = "a title"
        for name, n in (("time", None), ("lat", 4), ("nv", 2)):
            f.createDimension(name, n)
        v = f.createVariable("time", "f8", ("time",))
        v.units, v.bounds = "days since 2000-01-01", "time_bounds"
        v[:] = np.arange(3)
        v = f.createVariable("lat", "f4", ("lat",))
        v.units = "degrees_north"
        v[:] = [10, 20, 30, 40]
        v = f.createVariable("temperature", "i2", ("time", "lat"), zlib=True, fill_value=-9)
        v.scale_factor, v.units = 0.5, "K"
        v[:] = np.arange(12).reshape(3, 4) / 2
        v = f.createVariable("time_bounds", "f8", ("time", "nv"))
        v[:] = [[0, 1], [1, 2], [2, 3]]
        v = f.createVariable("station", str, ("lat",))
        v[:] = np.array(["a", "bb", "ç", ""], object)
        g = f.createGroup("model")
        g.createDimension("level", 2)
        v = g.createVariable("wind", "i4", ("level", "lat"))
        v[:] = np.arange(8).reshape(2, 4)
    sys.exit()


def netcdf4(name):
    with netCDF4.Dataset(name) as f:
        f.set_auto_maskandscale(True)
        yield {d: (len(x), x.isunlimited()) for d, x in f.dimensions.items()}
        yield {d: len(x) for d, x in f["model"].dimensions.items()}
        for path in ("time", "lat", "temperature", "time_bounds", "station", "model/wind"):
            v = f[path]
            yield path, v.dimensions, v.dtype, sorted((a, str(v.getncattr(a))) for a in v.ncattrs()), v[:].tolist()


def h5nc(name):
    with h5netcdf.File(name, decode_vlen_strings=True) as f:
        for path in ("time", "lat", "temperature", "time_bounds", "model/wind"):
            yield path, f[path].dimensions, f[path][...].tolist()


first, *others = sys.argv[2:]
for read in (netcdf4, h5nc):
    want = list(read(first))
    for name in others:
        got = list(read(name))
        assert got == want, f"{name}: got {got}, want {want}"
