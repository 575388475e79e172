"""Writes the golden trees beside this file with bcolz-zipline.

Run it with a Python that has bcolz-zipline: python gen.py. It removes and
writes every tree and SHA256SUMS, the list of their digests.
"""

import hashlib
import os
import shutil

import bcolz
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
bcolz.set_nthreads(1)  # with more, compressed bytes differ from run to run


def params(cname="lz4", clevel=5, shuffle=1, quantize=0):
    return bcolz.cparams(clevel=clevel, shuffle=shuffle, cname=cname, quantize=quantize)


def root(name):
    path = os.path.join(HERE, name)
    if os.path.isdir(path):
        shutil.rmtree(path)
    return path


def carray(name, values, chunklen, cparams=None, **more):
    a = bcolz.carray(values, rootdir=root(name), mode="w", chunklen=chunklen, cparams=cparams or params(), **more)
    a.flush()
    return a


# Element types: seven rows each in chunks of four, so that there is a leftover.
n = np.arange(7)
carray("bool", n % 3 == 1, 4)
for t in ("i1", "u2", ">i4", "<i8", "f4", ">f8", "f2"):
    carray("type_" + t.strip("<>"), n.astype(t), 4)
carray("bytes", np.array([b"", b"a", b"bc", b"def", b"ghij", b"klmno", b"p"], "S5"), 4)
carray("unicode", np.array(["", "a", "\u00e9\u4e16", "\U0001f600bc", "d", "ef", "ghi"], "U3"), 4)
carray("date", n.astype("M8[ns]"), 4)
carray("void", np.array([bytes([i, 0, 255 - i]) for i in n], "V3"), 4)

# Written, but not opened again by bcolz itself.
carray("structured", np.zeros(3, "i4,f8"), 4)

# Codecs and filters, with enough values to be compressed at all.
m = np.arange(3000, dtype="i4")
for codec in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
    carray("codec_" + codec, m, 2000, params(codec, shuffle=2 if codec == "zstd" else 1))
carray("bitshuffle", m[:1003], 1000, params("zstd", shuffle=2))  # 3 left over: not 8
carray("codec_none", m[:50], 32, params(clevel=0, shuffle=0))

# Shapes.
carray("empty", np.empty(0, "i4"), 4)
carray("exact", np.arange(8, dtype="i4"), 4)
carray("rows", np.arange(30, dtype="f8").reshape(5, 2, 3), 2, dflt=2.5)

# What changes leave behind: trimmed to whole chunks, the leftover file stays.
a = carray("stale", np.arange(11, dtype="i4"), 4)
a.trim(3)
a.flush()
a = carray("grown", np.arange(3, dtype="i4"), 4, dflt=-7)
a.resize(9)
a.flush()

carray("nan", np.ones(2), 4, dflt=np.nan)

a = carray("attrs", np.arange(3, dtype="i4"), 4)
a.attrs["temp"] = 22.5
a.attrs["count"] = -3
a.attrs["name"] = "Gr\u00fc\u00dfe \U0001f600 \"x\"\n"
a.attrs["flag"] = True
a.attrs["none"] = None
a.attrs["list"] = [1, 2, 3]
a.attrs["mixed"] = [1, "a", {"b": 1e-05}]
a.attrs["limits"] = [1e16, 1e15, 1e-4, 1e-5, float("inf"), float("nan"), 0.1]

# Pickled objects, which a reader without Python can only name.
carray("object", np.array([{"a": 1}, [2]], dtype=object), None)

t = bcolz.ctable(
    columns=[np.arange(6, dtype="i4"), np.arange(6) / 2, np.array([b"x", b"yy", b"zzz"] * 2)],
    names=["id", "value", "tag"], rootdir=root("table"), mode="w", cparams=params("blosclz"))
t.attrs["title"] = "three columns"
t.flush()

sums = []
for folder, dirs, files in sorted(os.walk(HERE)):
    for f in sorted(files):
        path = os.path.join(folder, f)
        name = os.path.relpath(path, HERE)
        if os.path.dirname(name) != "" and not name.startswith("fuzz"):
            with open(path, "rb") as r:
                sums.append((hashlib.sha256(r.read()).hexdigest(), name))
with open(os.path.join(HERE, "SHA256SUMS"), "w") as w:
    for digest, name in sorted(sums, key=lambda s: s[1]):
        w.write(f"{digest}  {name}\n")
