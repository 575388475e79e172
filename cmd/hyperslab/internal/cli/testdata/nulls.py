"""Tables with nulls of every storage: "write DIR" writes them and prints, for each address, the
values with None for null; "check A B" compares two tables."""

import dataclasses
import json
import os
import sys

import blosc2
import numpy as np

KINDS = {
    "b": (bool, blosc2.bool, True), "i1": (int, blosc2.int8, -5), "u1": (int, blosc2.uint8, 7), "i8": (int, blosc2.int64, 2**62),
    "u8": (int, blosc2.uint64, 2**64 - 5), "f4": (float, blosc2.float32, 1.5), "f8": (float, blosc2.float64, -0.0),
    "s": (str, lambda **k: blosc2.string(max_length=15, **k), "ab"), "y": (bytes, lambda **k: blosc2.bytes(max_length=15, **k), b"cd"),
    "u": (str, blosc2.utf8, "text"), "t": (object, lambda **k: blosc2.timestamp(unit="us", **k), np.datetime64("2020-01-01T00:00:00", "us")),
}


def fields(storage):
    out = [(n, t, blosc2.field(f(nullable=True, null_storage=storage))) for n, (t, f, _) in KINDS.items()]
    nd = {"null_storage": "mask"} if storage == "mask" else {"null_value": float("nan")}
    out.append(("nd", object, blosc2.field(blosc2.ndarray((2,), dtype="f8", nullable=True, **nd))))
    out.append(("c", complex, blosc2.field(blosc2.complex128(nullable=True, null_storage="mask"))))
    out.append(("own", int, blosc2.field(blosc2.int32(null_value=-999))))
    out.append(("vl", str, blosc2.field(blosc2.vlstring(nullable=True))))
    out.append(("dic", str, blosc2.field(blosc2.dictionary())))
    out.append(("req", int, blosc2.field(blosc2.int32())))
    return out


def value(x):
    if isinstance(x, (np.ndarray, np.generic)) and np.asarray(x).dtype.kind == "M":
        return str(x)
    x = x.tolist() if isinstance(x, (np.ndarray, np.generic)) else x
    if isinstance(x, complex):
        return [x.real, x.imag]
    if isinstance(x, bytes):
        return x.decode()
    if hasattr(x, "isoformat"):
        return x.isoformat() + ".000000"
    if isinstance(x, int) and not isinstance(x, bool) and abs(x) > 2**53:
        return str(x)
    return x


def column(t, name):
    nulls = t[name].is_null()[:]
    return [None if null else value(v) for null, v in zip(nulls, t[name][:])]


def write(dir):
    out = {}
    for storage in ("sentinel", "mask"):
        rows = fields(storage)
        for ext in ("b2d", "b2z"):
            path = os.path.join(dir, storage + "." + ext)
            t = blosc2.CTable(dataclasses.make_dataclass("R", rows), urlpath=path, mode="w")
            good = {**{n: v for n, (_, _, v) in KINDS.items()}, "nd": np.array([1.0, 2.0]), "c": 1 + 2j, "own": 3, "vl": "vv", "dic": "red", "req": 1}
            null = {c.name: getattr(c.spec, "null_value", None) for c in t._schema.columns}
            null.update(req=2, own=-999)
            if storage == "sentinel":
                null["nd"] = np.full(2, np.nan)
            for row in (good, null, good, null):
                t.append(tuple(row[n] for n, _, _ in rows))
            t.delete(2)
            t.close()
            t = blosc2.CTable.open(path)
            for name in t.col_names:
                values = column(t, name)
                out[path + ":/" + name] = [None if v is None or name == "nd" and np.isnan(v).all() else v for v in values]
            t.close()
    print(json.dumps(out))


def check(a, b):
    a, b = blosc2.CTable.open(a), blosc2.CTable.open(b)
    if list(a.col_names) != list(b.col_names):
        print("columns", list(a.col_names), list(b.col_names))
    for name in a.col_names:
        x, y = column(a, name), column(b, name)
        if repr(x) != repr(y):
            print(name, x, y)


def names(dir):
    """Writes tables whose columns have unusual names and a fixed order."""
    for ext in ("b2d", "b2z"):
        path = os.path.join(dir, "names." + ext)
        rows = [(n, int, blosc2.field(blosc2.int32())) for n in ("time", "alpha", "zz", "b_1", "ü")]
        t = blosc2.CTable(dataclasses.make_dataclass("R", rows), urlpath=path, mode="w")
        t.append((1, 2, 3, 4, 5))
        for old, new in (("alpha", "50%"), ("zz", "bias:0"), ("b_1", "nested.x")):
            t.rename_column(old, new)
        t.close()


{"write": write, "check": check, "names": names}[sys.argv[1]](*sys.argv[2:])
