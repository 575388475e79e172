"""Writes arrays with bcolz into the directory argv[1], and list.json beside them:
for each its shape, its dtype and the digest of its bytes in native order."""

import hashlib
import itertools
import json
import os
import sys

import bcolz
import numpy as np

root = sys.argv[1]
entries = []
rng = np.random.default_rng(1)


def write(values, chunklen, **cparams):
    name = str(len(entries))
    a = bcolz.carray(values, rootdir=os.path.join(root, name), mode="w", chunklen=chunklen,
                     cparams=bcolz.cparams(**cparams))
    a.flush()
    native = values.astype(values.dtype.newbyteorder("="))
    entries.append({"name": name, "shape": values.shape, "dtype": values.dtype.str,
                    "sha256": hashlib.sha256(native.tobytes()).hexdigest()})


def values(dtype, n):
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, n).astype(d)
    if d.kind in "SU":
        return np.array(["x" * (i % 4) + str(i % 7) for i in range(n)], d)
    if d.kind == "V":
        return np.frombuffer(rng.integers(0, 4, n * d.itemsize).astype("u1").tobytes(), d)
    return rng.integers(0, 100, n).astype(d)


# Every element type with leftovers of every length modulo 8, since bits are
# shuffled in groups of eight elements.
for dtype in ("b1", "i1", "<i2", ">i4", "<i8", "u1", ">u2", "<u4", "u8", "<f2", "<f4", ">f4", "<f8", ">f8", "S5", "<U6", ">U3", "V3", "V300"):
    for shuffle in (0, 1, 2):
        for rows in (1, 7, 64, 1000 + len(entries) % 8):
            write(values(dtype, rows), 100 if rows < 500 else 301, cname="lz4", clevel=5, shuffle=shuffle)

# Every codec at low and high levels, one and several blocks a chunk.
for cname, clevel, shuffle in itertools.product(("blosclz", "lz4", "lz4hc", "zlib", "zstd"), (0, 1, 9), (0, 1, 2)):
    write(values("i4", 70001), 30001, cname=cname, clevel=clevel, shuffle=shuffle)
    write(values("f8", 6 * 5 * 211).reshape(211, 6, 5), 50, cname=cname, clevel=clevel, shuffle=shuffle)

with open(os.path.join(root, "list.json"), "w") as w:
    json.dump(entries, w)
