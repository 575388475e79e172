"""Writes strings with the peers (write DIR), and checks converted ones (check DIR)."""
import os
import sys

import bcolz
import blosc2
import h5py
import netCDF4
import numpy as np

TEXTS = ["a", "", "ünï", "日本語", "𝔘\u0301", "a longer string"]
ASCII = [b"abc", b"", b"x"]
verb, where = sys.argv[1:]
os.chdir(where)
if verb == "write":
    with h5py.File("s.h5", "w") as f:
        f["utf8"] = np.array(TEXTS * 50, h5py.string_dtype())
        f["ascii"] = np.array(ASCII, h5py.string_dtype("ascii"))
        f["square"] = np.array([["a", "bb"], ["", "dddd"]], h5py.string_dtype())
        f["utf8"].attrs["words"] = ["one", "zwö"]
    with netCDF4.Dataset("s.nc", "w") as f:
        f.createDimension("x", len(TEXTS))
        v = f.createVariable("names", str, ("x",))
        v[:] = np.array(TEXTS, object)
        p = f.createVariable("p", "i2", ("x",))
        p.units, p.long_name = "K", "temperature"
        p[:] = 1
    blosc2.asarray(np.array(TEXTS), urlpath="u.b2nd", mode="w", chunks=(4,), blocks=(2,))
    a = blosc2.open("u.b2nd", mode="a")
    a.schunk.vlmeta["words"] = ["one", "zwö"]
    bcolz.carray(np.array(TEXTS), rootdir="u.bcolz").flush()
else:
    assert blosc2.open("utf8.b2nd")[:].tolist() == TEXTS * 50
    assert blosc2.open("utf8.b2nd").dtype == np.dtype("<U15")
    assert blosc2.open("square.b2nd")[:].tolist() == [["a", "bb"], ["", "dddd"]]
    ascii = blosc2.open("ascii.b2nd")
    assert ascii.dtype == np.dtype("S3") and ascii[:].tolist() == ASCII
    assert bcolz.open("utf8.bcolz")[:].tolist() == TEXTS * 50
    assert bcolz.open("ascii.bcolz")[:].tolist() == ASCII
    assert np.load("utf8.npy").tolist() == TEXTS * 50
    tree = blosc2.TreeStore("tree.b2z", mode="r")
    assert tree["/names"][:].tolist() == TEXTS
    p = tree["/p"]
    assert p.schunk.vlmeta["units"] == "K" and p.schunk.vlmeta["long_name"] == "temperature"
    for name in ("b2nd.h5", "bcolz.h5", "back.h5"):
        with h5py.File(name) as f:
            d = f["x"]
            assert h5py.check_string_dtype(d.dtype) == ("utf-8", None), name
            assert d.asstr()[:len(TEXTS)].tolist() == TEXTS, name
    with h5py.File("b2nd.h5") as f:
        assert list(f["x"].attrs["words"]) == ["one", "zwö"]
    with h5py.File("fixed.h5") as f:
        assert h5py.check_string_dtype(f["x"].dtype).encoding == "utf-8" and f["x"].dtype.kind == "S"
        assert f["x"].asstr()[:].tolist() == TEXTS
    with netCDF4.Dataset("back.nc") as f:
        assert f["names"].dtype is str and f["names"][:].tolist() == TEXTS
