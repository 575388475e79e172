"""older.py write|check DIR: files of current libraries, for older_test.go, and a check with older releases.

write fills DIR with files and puts the expected values into DIR/expected.npz. check compares with them
each place in the JSON object {"file" or "file:object": key} on standard input.
"""

import json
import os
import sys

import blosc2
import h5py
import netCDF4
import numpy as np

verb, root = sys.argv[1], sys.argv[2]
os.chdir(root)


def write():
    rng = np.random.default_rng(16)
    values = {
        "grid": rng.integers(0, 99, (60, 8)).astype("i4"), "real": rng.standard_normal((12, 5)), "words": np.array(["aé", "b", "ccc"] * 50),
        "complex": np.arange(6) + 1j * np.arange(6), "flags": np.array([True, False, True]), "names": np.array(["x", "longer", ""], object),
        "records": np.array([(1, 2.5, b"ab"), (3, -1.0, b"")], [("a", "<i4"), ("b", ">f8"), ("c", "S3")]),
    }
    np.savez("expected.npz", **values)

    def fill(f):
        f.create_dataset("grid", data=values["grid"], chunks=(16, 4), maxshape=(None, None), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("group/grid", data=values["grid"], chunks=(16, 4), maxshape=(None, 8))
        for name in ("real", "complex", "flags", "names", "records"):
            f[name] = values[name]
        f["real"].attrs["units"], f.attrs["title"] = "kelvin", "température"

    with h5py.File("earliest.h5", "w") as f:
        fill(f)
        layout = h5py.VirtualLayout(shape=(60, 8), dtype="i4")
        layout[:] = h5py.VirtualSource(".", "group/grid", shape=(60, 8))
        f.create_virtual_dataset("virtual", layout)
    with h5py.File("v114.h5", "w", libver=("v114", "v114")) as f:
        fill(f)
    with h5py.File("latest.h5", "w", libver="latest") as f:
        fill(f)
    with netCDF4.Dataset("measured.nc", "w") as d:
        d.title = "measured"
        d.createDimension("time", None)
        d.createDimension("x", 8)
        grid = d.createVariable("grid", "i4", ("time", "x"), zlib=True)
        grid.units, grid[:] = "K", values["grid"]
        d.createVariable("time", "f8", ("time",))[:] = np.arange(60)
    for name in ("grid", "words", "real"):
        blosc2.asarray(values[name], urlpath=name + ".b2nd", mode="w")
    blosc2.asarray(values["grid"], urlpath="dictionary.b2nd", mode="w", cparams={"codec": blosc2.Codec.ZSTD, "use_dict": True})
    np.save("grid.npy", values["grid"])


def read(place):
    file, _, name = place.partition(":")
    if file.endswith(".nc"):
        with netCDF4.Dataset(file) as d:
            return np.asarray(d[name][...])
    if name:
        with h5py.File(file, "r") as f:
            d = f[name]
            return d.asstr()[()] if h5py.check_string_dtype(d.dtype) else d[()]
    return blosc2.open(file, mode="r")[...]


def check():
    if not blosc2.blosclib_version.startswith("2.17.") or h5py.version.hdf5_version_tuple[:2] != (1, 14):
        sys.exit(f"C-Blosc2 {blosc2.blosclib_version}, HDF5 {h5py.version.hdf5_version}: want 2.17 and 1.14")
    wrong, expected = 0, np.load("expected.npz", allow_pickle=True)
    for place, key in json.load(sys.stdin).items():
        try:
            got, want = read(place), expected[key]
            right = got.shape == want.shape and got.dtype == want.dtype and bool(np.all(got == want))
        except Exception as error:  # the report names every array that fails
            got, right = repr(error), False
        if not right:
            wrong += 1
            print(place, repr(got)[:300])
    sys.exit(1 if wrong else 0)


{"write": write, "check": check}[verb]()
