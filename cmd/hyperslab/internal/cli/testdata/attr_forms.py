"""Attributes of every type: "write DIR" writes files and prints the address and the name of each
attribute; "check DIR" compares each attribute NAME with its copy copy_NAME."""

import json
import os
import sys

import blosc2
import h5py
import numpy as np


def numbers():
    out = {}
    for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">u4", ">i8"):
        info = np.iinfo(np.dtype(t))
        out["scalar " + t], out["list " + t] = np.array(info.max, t)[()], np.array([info.min, 0, info.max], t)
    for t in ("f2", "f4", "f8", ">f4", ">f8", np.longdouble):
        name = np.dtype(t).str
        out["special " + name] = np.array([0.1, -0.0, np.nan, np.inf, -np.inf, 1, 3e4], t)
        out["zero " + name], out["grid " + name] = np.array(-0.0, t)[()], np.array([[1.5, 2], [3, 4]], t)
    out["payload"] = np.array([0x7FF8000000000005, 0xFFF0000000000001], "u8").view("f8")
    out["payload f4"] = np.array([0xFFC00001], "u4").view("f4")
    for t in ("c8", "c16", ">c16"):
        out["complex " + t], out["complex scalar " + t] = np.array([complex(-0.0, np.nan), 1 + 2j], t), np.array(1.5 - 0j, t)[()]
    out["bool"], out["bools"] = np.bool_(True), np.array([True, False])
    out["rank 4"] = np.arange(24, dtype="i8").reshape(2, 3, 2, 2)
    out["empty"], out["empty rows"], out["empty columns"] = np.zeros(0), np.zeros((0, 3), "i4"), np.zeros((3, 0))
    return out


TEXTS = ["text", "5", "true", "null", "[1,2]", '{"a":1}', '{"dtype":"<f4","value":1}', "", "a\nb", '"x"', "NaN", "äö€😀", " 5 ", "-x", "x\n", "a\\b", "1.0"]


def strings():
    out = {"text %d" % i: s for i, s in enumerate(TEXTS)}
    out["bytes"], out["bytes no text"] = np.bytes_(b"ab"), np.bytes_(b"\xff\xfe")
    out["bytes list"] = np.array([b"a", b"\xff\xfe", b"ccc"], "S4")
    out["strings"] = np.array(["a", "b\u00e9", ""], dtype=h5py.string_dtype())
    out["ascii"] = np.array(["a", "5"], dtype=h5py.string_dtype("ascii"))
    out["fixed utf8"] = np.array("aé".encode(), dtype=h5py.string_dtype("utf-8", 5))
    out["null"], out["null string"] = h5py.Empty("f4"), h5py.Empty(h5py.string_dtype())
    out["no strings"] = np.array([], dtype=h5py.string_dtype())
    record = np.array([(1, 2.5, b"ab", [1, 2, 3])], dtype=[("a", "i4"), ("b", "f8"), ("s", "S3"), ("v", "i2", (3,))])
    out["struct"], out["structs"] = record[0], record
    out["nested"] = np.array([((1, -0.0), 1 + 1j)], dtype=[("p", [("x", "u1"), ("y", "f4")]), ("c", "c8")])
    out["opaque"] = np.void(b"\x01\x02\xff")
    return out


def write_hdf5(path):
    with h5py.File(path, "w") as f:
        d = f.create_dataset("d", data=[1, 2])
        for name, v in {**numbers(), **strings()}.items():
            d.attrs[name] = v
        small = h5py.enum_dtype({"RED": 0, "GREEN": 1}, "u1")
        d.attrs.create("enum", np.array([0, 1, 7], "u1"), dtype=small)
        d.attrs.create("enum scalar", 1, dtype=small)
        d.attrs.create("enum i8", np.array([-5, 2**40]), dtype=h5py.enum_dtype({"A": -5, "B": 2**40}, "i8"))
        d.attrs.create("sequence", np.array([np.array([1, 2], "i4"), np.array([], "i4")], dtype=object), dtype=h5py.vlen_dtype("i4"))
        d.attrs.create("array", np.arange(6, dtype="i4").reshape(2, 3), shape=(2, 3), dtype=np.dtype(("i4", (3,))))
        text = np.dtype([("a", "i4"), ("s", h5py.string_dtype())])
        d.attrs.create("struct with string", np.array([(1, "xy")], dtype=text), dtype=text)
        for pad, name in ((h5py.h5t.STR_SPACEPAD, b"spaces"), (h5py.h5t.STR_NULLTERM, b"terminated")):
            t = h5py.h5t.C_S1.copy()
            t.set_size(5)
            t.set_strpad(pad)
            h5py.h5a.create(d.id, name, t, h5py.h5s.create(h5py.h5s.SCALAR)).write(np.array(b"ab   " if name == b"spaces" else b"ab", "S5"), mtype=t)
        h5py.h5a.create(d.id, b"bits", h5py.h5t.STD_B16LE, h5py.h5s.create(h5py.h5s.SCALAR)).write(np.array(5, "u2"))
        return list(d.attrs)


LAYERS = {
    "int": -(2**63), "uint": 2**64 - 1, "beyond": 2**53 + 1, "float": 1.0, "tenth": 0.1, "zero": -0.0, "nan": float("nan"), "inf": float("inf"), "large": 1e15,
    "true": True, "none": None, "bytes": b"\xff\x00a", "ints": [1, 2], "floats": [1.0, -0.0], "mixed": [1, 2.5], "any": [1, "a", None], "strings": ["a", "b"],
    "empty": [], "empties": [[], []], "ragged": [[1], [2, 3]], "dict": {"a": 1, "b": [1.5, {"c": None}]}, "typed": {"dtype": "<f4", "value": 1}, "tuple": (1, 2),
    "bools": [True, False], "wide": [[2**62, 1], [3, 4]], "bool and int": [True, 1], "uints": [2**64 - 1, 1], "signs": [-1, 2**64 - 1], "zero byte": "a\x00b",
    "no members": {}, "nan inside": {"a": float("nan")}, "infinities": [float("inf"), 1.0], "json": {"dtype": "json", "value": 1}, "bidi": "ä\u202e",
    **{"text %d" % i: s for i, s in enumerate(TEXTS)},
}


def frames(dir):
    items = list(LAYERS.items())
    return [(os.path.join(dir, "%d.b2nd" % i), dict(items[i : i + 7])) for i in range(0, len(items), 7)]


def write(dir):
    hdf5 = os.path.join(dir, "x.h5")
    list_ = [[hdf5 + ":/d", name] for name in write_hdf5(hdf5)]
    for path, layers in frames(dir):
        a = blosc2.asarray(np.arange(3), urlpath=path, mode="w")
        for name, v in layers.items():
            a.vlmeta[name] = v
            list_.append([path, name])
    print(json.dumps(list_))


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, h5py.Empty):
        return a.dtype == b.dtype
    if isinstance(a, (np.ndarray, np.generic)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        padded = a.dtype.hasobject or a.dtype == np.longdouble
        return repr(a.tolist()) == repr(b.tolist()) if padded else a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return repr(a) == repr(b)


def check(dir):
    with h5py.File(os.path.join(dir, "x.h5")) as f:
        attrs = f["d"].attrs
        for name in attrs:
            if name.startswith("copy_"):
                continue
            types = [attrs.get_id(n).get_type() for n in (name, "copy_" + name)]
            if not same(attrs[name], attrs["copy_" + name]) or not types[0].equal(types[1]):
                print("hdf5", name, repr(attrs[name]), repr(attrs["copy_" + name]), types)
    for path, layers in frames(dir):
        a = blosc2.open(path)
        for name in layers:
            v = a.vlmeta["copy_" + name] if "copy_" + name in list(a.vlmeta) else "missing"
            if not same(a.vlmeta[name], v):
                print("b2nd", name, repr(a.vlmeta[name]), repr(v))


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
