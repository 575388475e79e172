"""growth.py KIND N FILE: writes an HDF5 file with N of KIND, for the rows that compare the processor time of a
command at n and 4n."""

import sys

import h5py
import numpy as np


def variables(f, n):
    g = f.create_group("g")
    for name, size in (("t", 3), ("y", 2)):
        g[name] = np.arange(float(size))
        g[name].make_scale(name)
    for i in range(n):
        d = g.create_dataset(f"v{i}", (3, 2), "f4")
        d.dims[0].attach_scale(g["t"])
        d.dims[1].attach_scale(g["y"])


def references(f, n):
    g = f.create_group("g")
    for i in range(n):
        g[f"c{i}"] = np.arange(3.0)
    g["cell"] = np.array([g[f"c{i}"].ref for i in range(n)], dtype=h5py.ref_dtype)


def attributes(f, n):
    f["a"] = 1
    for i in range(n):
        f["a"].attrs[f"k{i}"] = i


def group_attributes(f, n):
    g = f.create_group("g")
    f["g/a"] = 1
    for i in range(n):
        g.attrs[f"k{i}"] = i


def links(f, n):
    g = f.create_group("g")
    g["a"] = np.arange(3)
    for i in range(n - 1):
        g[f"l{i}"] = g["a"]


def datasets(f, n):
    g = f.create_group("g")
    for i in range(n):
        g[f"d{i}"] = np.arange(3)


def depth(f, n):
    g = f
    for _ in range(n):
        g = g.create_group("g")
    g["a"] = np.arange(3)


def chunks(f, n):
    f.create_dataset("a", data=np.arange(4 * n, dtype="i4"), chunks=(4,))


def sequences(f, n):
    d = f.create_dataset("a", (n,), h5py.vlen_dtype(np.dtype("i4")))
    d[:] = np.array([np.arange(i % 5, dtype="i4") for i in range(n)] + [None], dtype=object)[:-1]


def columns(f, n):
    f["a"] = np.zeros(10, [(f"c{i}", "i4") for i in range(n)])


def netcdf(path, n):
    import netCDF4

    with netCDF4.Dataset(path, "w") as f:
        for name, size in (("t", 3), ("y", 2)):
            f.createDimension(name, size)
            f.createVariable(name, "f8", (name,))[:] = np.arange(size)
        for i in range(n):
            f.createVariable(f"v{i}", "f4", ("t", "y"))[:] = i


kind, n, path = sys.argv[1:]
if kind == "netcdf":
    netcdf(path, int(n))
    sys.exit()
with h5py.File(path, "w", libver=("v114", "v114")) as file:  # the programs of HDF5 1.14 must be able to read it
    globals()[kind](file, int(n))
