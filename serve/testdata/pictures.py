# pictures.py DIR
# Writes the files whose pictures the tests compare.
import sys
import h5py
import netCDF4
import numpy as np

d = sys.argv[1] + "/"
with netCDF4.Dataset(d + "ocean.nc", "w") as f:
    f.Conventions = "CF-1.11"
    for name, n in dict(time=8, depth=6, lat=19, lon=36).items():
        f.createDimension(name, n)
    t = f.createVariable("time", "f8", ("time",))
    t.units, t.calendar = "days since 2024-01-01", "standard"
    t[:] = np.arange(8) * 7
    z = f.createVariable("depth", "f4", ("depth",))
    z.units, z.positive, z.axis = "m", "down", "Z"
    z[:] = [0, 10, 30, 75, 150, 400]
    lat = f.createVariable("lat", "f4", ("lat",))
    lat.units, lat.standard_name = "degrees_north", "latitude"
    lat[:] = np.linspace(-90, 90, 19)
    lon = f.createVariable("lon", "f4", ("lon",))
    lon.units, lon.standard_name = "degrees_east", "longitude"
    lon[:] = np.arange(36) * 10 - 175
    h = f.createVariable("ship", "f4")
    h.units, h.standard_name, h.positive, h[...] = "m", "height", "up", 2
    v = f.createVariable("temperature", "i2", ("time", "depth", "lat", "lon"), fill_value=-32768)
    v.units, v.long_name, v.scale_factor, v.add_offset, v.coordinates = "degC", "Sea water temperature", 0.01, 5.0, "ship"
    T, Z, Y, X = np.meshgrid(np.arange(8), z[:], lat[:], lon[:], indexing="ij")
    data = 25 * np.cos(np.radians(Y)) * np.exp(-Z / 200) + 3 * np.sin(np.radians(X + 20 * T))
    land = (np.abs(X - 40) < 30) & (np.abs(Y - 10) < 25)
    v[:] = np.ma.masked_array(data, land)
    s = f.createVariable("station", "f4", ("time", "depth"), fill_value=-9)
    s.units = "degC"
    values = np.ma.masked_array(data[:, :, 5, 5])
    values[2:4, :] = np.ma.masked
    s[:] = values
    q = f.createVariable("quality", "i1", ("lat", "lon"), fill_value=-1)
    q.flag_values, q.flag_meanings = np.array([0, 1, 2], "i1"), "good doubtful bad"
    q[:] = np.arange(19 * 36).reshape(19, 36) % 3
with netCDF4.Dataset(d + "series.nc", "w") as f:
    f.createDimension("time", 400)
    t = f.createVariable("time", "f8", ("time",))
    t.units, t.calendar = "hours since 1999-12-20", "noleap"
    t[:] = np.cumsum(np.where(np.arange(400) % 50 == 49, 30, 1))
    v = f.createVariable("flow", "f4", ("time",), fill_value=1e20)
    v.units, v.long_name = "m3 s-1", "River flow"
    v[:] = np.ma.masked_array(np.exp(np.sin(np.arange(400) / 20.0) * 3), (np.arange(400) > 120) & (np.arange(400) < 160))
    f.createDimension("level", 10)
    p = f.createVariable("level", "f4", ("level",))
    p.units = "hPa"
    p[:] = [1000, 925, 850, 700, 500, 400, 300, 200, 100, 50]
    w = f.createVariable("wind", "f8", ("level", "time"))
    w.units = "m s-1"
    w[:] = np.arange(10)[:, None] * 3 + np.cos(np.arange(400) / 15.0)[None, :]
    f.createDimension("months", 36)
    m = f.createVariable("months", "i4", ("months",))
    m.units, m.calendar = "days since 2000-01-16", "360_day"
    m[:] = np.arange(36) * 30
    r = f.createVariable("rain", "f4", ("months",))
    r.units = "mm"
    r[:] = 50 + 40 * np.sin(np.arange(36) * np.pi / 6)
with netCDF4.Dataset(d + "curved.nc", "w") as f:
    f.createDimension("y", 20)
    f.createDimension("x", 30)
    for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
        c = f.createVariable(name, "f8", ("y", "x"))
        c.units = units
        c[:] = (np.arange(20)[:, None] * 2 + np.arange(30)[None, :] * 0.1) if name == "lat" else np.arange(30)[None, :] + np.zeros((20, 1))
    v = f.createVariable("ice", "f4", ("y", "x"))
    v.coordinates = "lat lon"
    v[:] = np.arange(20)[:, None] + np.zeros((1, 30))
with netCDF4.Dataset(d + "broken.nc", "w") as f:
    f.createDimension("x", 5)
    f.createDimension("y", 4)
    v = f.createVariable("v", "i2", ("y", "x"))
    v.set_auto_maskandscale(False)
    v.scale_factor, v.units, v.coordinates = "ten", "m", "nowhere"
    v[:] = np.arange(20).reshape(4, 5)
    t = f.createVariable("x", "f8", ("x",))
    t.units, t.calendar = "days since 2000-01-01", "lunar"
    t[:] = np.arange(5)
with h5py.File(d + "plain.h5", "w") as f:
    y, x = np.mgrid[0:40, 0:60]
    rgb = np.stack([x * 4, y * 6, 255 - x * 4], -1).astype("u1")
    f["rgb"] = rgb
    f["rgba"] = np.concatenate([rgb, np.where((x - 30) ** 2 + (y - 20) ** 2 < 250, 255, 40)[..., None].astype("u1")], -1)
    f["film"] = np.stack([rgb, 255 - rgb, rgb[::-1]])
    f["wave"] = (np.exp(1j * np.hypot(x - 30, y - 20) / 4) * (1 + x)).astype("c8")
    f["matrix"] = np.arange(12.0).reshape(3, 4)
    f["peaks"] = np.where((x % 17 == 3) & (y % 11 == 5), 1e6, x * y + 1.0)
    gaps = np.sin(np.arange(300) / 10.0)
    gaps[100:140] = np.nan
    gaps[200] = np.inf
    f["gaps"] = gaps
    f["large"] = np.add.outer(np.arange(1500), np.arange(2000)).astype("i4")
    f["rows"] = np.stack([np.sin(np.arange(50) / 5.0) + k for k in range(4)])
    e = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42}, basetype="u1")
    f.create_dataset("colour", data=np.array([[0, 1, 42], [42, 1, 0]], "u1"), dtype=e)
    f["table"] = np.array([(1, 2.5, b"one"), (2, -1.5, b"two")], [("id", "i4"), ("mass", "f8"), ("name", "S5")])
