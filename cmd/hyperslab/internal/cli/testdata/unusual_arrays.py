"""Random b2nd, Caterva and bcolz arrays, and a comparison of arrays through their own libraries.

  unusual_arrays.py make DIR SEED...     writes DIR/SEED.b2nd, DIR/SEED.caterva and DIR/SEED.bcolz
  unusual_arrays.py compare < TASKS      prints the differences of pairs of arrays, as JSON

A task is {"want": PATH, "got": PATH, "attrs": bool}.
"""
import json
import os
import random
import sys

import blosc2
import bcolz
import numpy as np

DTYPES = ["i1", "u1", "<i2", ">i2", "<u4", "<i8", ">i8", "<f4", ">f8", "<f8", "?", "S5", "<U3", "<c8", "<c16"]


def values(rng, dtype, shape):
    n = int(np.prod(shape))
    dt = np.dtype(dtype)
    if rng.random() < 0.2:
        return np.zeros(shape, dtype=dt)
    if dt.kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(n)], dtype=dt).reshape(shape)
    if dt.kind == "S":
        return np.array([rng.choice([b"", b"a", b"ab\0c", b"fives"]) for _ in range(n)], dtype=dt).reshape(shape)
    if dt.kind == "U":
        return np.array([rng.choice(["", "x", "\u00e4\u03b1", "\U0001f600"]) for _ in range(n)], dtype=dt).reshape(shape)
    raw = bytes(rng.randrange(256) for _ in range(n * dt.itemsize))
    return np.frombuffer(raw, dtype=dt).reshape(shape)  # NaN with every payload among them


def shape_of(rng, most):
    return tuple(rng.choice([1, 2, 3, 5, 7, 16, 33]) for _ in range(rng.randint(1, most)))


def attributes(rng):
    out = {}
    for name in rng.sample(["unit", "\u00e4", "n", "list", "text", "real"], rng.randint(0, 4)):
        out[name] = rng.choice([1, -(2**40), 0.5, "text", "\u00e4\u03b1", [1, 2, 3], [0.5, 1.5]])
    return out


def make(folder, seed):
    rng = random.Random(seed)
    shape = shape_of(rng, 4)
    a = values(rng, rng.choice(DTYPES), shape)
    chunks = tuple(rng.randint(1, n) for n in shape)
    blocks = tuple(rng.randint(1, n) for n in chunks)
    cparams = {
        "codec": rng.choice([blosc2.Codec.LZ4, blosc2.Codec.ZSTD, blosc2.Codec.BLOSCLZ, blosc2.Codec.ZLIB, blosc2.Codec.LZ4HC]),
        "clevel": rng.randint(0, 9),
        "filters": [rng.choice([blosc2.Filter.NOFILTER, blosc2.Filter.SHUFFLE, blosc2.Filter.BITSHUFFLE])],
        "filters_meta": [0],
    }
    b = blosc2.asarray(a, chunks=chunks, blocks=blocks, urlpath=os.path.join(folder, "%d.b2nd" % seed),
                       mode="w", cparams=cparams, contiguous=rng.random() < 0.6)
    for name, value in attributes(rng).items():
        b.schunk.vlmeta[name] = value
    c = values(rng, rng.choice(["i1", "<i4", "<i8", "<u2", "<f4", "<f8", "?", "S5", "<U3"]), shape_of(rng, 3))
    t = bcolz.carray(c, chunklen=rng.randint(1, 40), rootdir=os.path.join(folder, "%d.bcolz" % seed), mode="w",
                     cparams=bcolz.cparams(clevel=rng.randint(0, 9), shuffle=rng.randint(0, 2), cname=rng.choice(["lz4", "zstd", "blosclz", "zlib"])))
    for name, value in attributes(rng).items():
        t.attrs[name] = value
    t.flush()
    table(rng, os.path.join(folder, "%d-table.bcolz" % seed), rng.randint(1, 40), rng.random() < 0.5)
    try:
        import caterva
        d = values(rng, rng.choice(["<i4", "<f8"]), shape_of(rng, 3))
        chunks = tuple(rng.randint(1, n) for n in d.shape)
        caterva.asarray(d, chunks=chunks, blocks=chunks, urlpath=os.path.join(folder, "%d.caterva" % seed), sequential=True)
    except ImportError:
        pass


def table(rng, path, rows, nested):
    """A ctable with attributes of its own and of its columns, with a ctable in it if nested."""
    os.mkdir(path)
    names = rng.sample(["a", "b b", "\u00e4", "c"], rng.randint(1, 3))
    for name in names:
        column = bcolz.carray(values(rng, rng.choice(["i1", "<i4", "<f8", "?", "S5", "<U3"]), (rows,)), chunklen=rng.randint(1, 40),
                              rootdir=os.path.join(path, name), mode="w")
        for key, value in attributes(rng).items():
            column.attrs[key] = value
        column.flush()
    if nested:
        names.insert(rng.randint(0, len(names)), "inner")
        table(rng, os.path.join(path, "inner"), rows, False)
    with open(os.path.join(path, "__rootdirs__"), "w") as f:
        json.dump({"names": names}, f)
    with open(os.path.join(path, "__attrs__"), "w") as f:
        json.dump(attributes(rng), f)


def read_table(path):
    """The columns of a ctable by name, and all attributes by name of their column."""
    with open(os.path.join(path, "__rootdirs__")) as f:
        names = json.load(f)["names"]
    with open(os.path.join(path, "__attrs__")) as f:
        columns, attrs = {}, {"": {k: v for k, v in json.load(f).items()}}
    for name in names:
        at = os.path.join(path, name)
        if os.path.exists(os.path.join(at, "__rootdirs__")):
            inner, inner_attrs = read_table(at)
            columns.update({name + "/" + k: v for k, v in inner.items()})
            attrs.update({name + "/" + k: v for k, v in inner_attrs.items()})
        else:
            c = bcolz.open(at, mode="r")
            columns[name], attrs[name] = c[:], {k: v for k, v in c.attrs}
    if "inner" not in names:  # bcolz opens the whole
        assert not names or bcolz.open(path, mode="r").names == names
    return columns, attrs


def read(path):
    """The columns of an array or table, and its attributes."""
    if os.path.exists(os.path.join(path, "__rootdirs__")):
        return read_table(path)
    a, attrs = read_array(path)
    return {"": a}, attrs


def read_array(path):
    """The elements of an array and its attributes."""
    if os.path.isdir(path) and os.path.exists(os.path.join(path, "meta")):
        c = bcolz.open(path, mode="r")
        return c[:], {k: v for k, v in c.attrs}
    if path.endswith(".caterva"):
        import caterva
        c = caterva.open(path)
        return np.asarray(c[...]).reshape(c.shape + (-1,)), {}  # python-caterva drops dimensions of length 1
    b = blosc2.open(path, mode="r")
    return b[...], {k: b.schunk.vlmeta[k] for k in b.schunk.vlmeta}


def compare(task):
    try:
        (columns, x), (got, y) = read(task["want"]), read(task["got"])
        out = []
        if task["part"]:
            columns = {name: columns[name] for name in got}
        if list(columns) != list(got):
            return ["columns: got %s, want %s" % (list(got), list(columns))]
        for name, a in columns.items():
            b = got[name]
            if task["twice"]:
                a = np.concatenate([a, a]).astype(a.dtype)  # concatenate returns native byte order
            if a.shape != b.shape:
                out.append("%s shape: got %s, want %s" % (name, b.shape, a.shape))
            elif task["strings"] and a.dtype.kind == b.dtype.kind == "U":  # strings of variable length were between
                if a.tolist() != b.tolist():
                    out.append("%s values differ" % name)
            elif a.dtype != b.dtype:
                out.append("%s dtype: got %s, want %s" % (name, b.dtype, a.dtype))
            elif a.tobytes() != b.tobytes():
                out.append("%s values differ" % name)
        if task["attrs"] and x != y:
            out.append("attributes: got %r, want %r" % (y, x))
        return out
    except Exception as e:
        return ["compare %s with %s: %r" % (task["got"], task["want"], e)]


if sys.argv[1] == "make":
    for s in sys.argv[3:]:
        make(sys.argv[2], int(s))
else:
    print(json.dumps([compare(t) for t in json.load(sys.stdin)]))
