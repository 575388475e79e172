"""current.py write|grown|check DIR: files of python-blosc2 4, for current_test.go.

write fills DIR with arrays of today's forms; check compares the metalayers of the
files that are named on standard input with those of vl.b2nd. grown reads the arrays
with dictionaries to which noise.b2nd and the array itself were appended.
"""

import os
import sys

import blosc2
import h5py
import hdf5plugin
import numpy as np

verb, root = sys.argv[1], sys.argv[2]
os.chdir(root)


def save(name, array, **kwargs):
    return blosc2.asarray(array, urlpath=name, mode="w", **kwargs)


def plain(value):
    """A value with its types, so that a tuple is not a list."""
    if isinstance(value, (list, tuple, set)):
        return type(value).__name__, [plain(x) for x in value]
    if isinstance(value, dict):
        return "dict", [(plain(k), plain(v)) for k, v in value.items()]
    if isinstance(value, np.ndarray):
        return "ndarray", value.dtype.str, value.tolist()
    return type(value).__name__, value


def metadata(file):
    a = blosc2.open(file, mode="r")
    names = [n for n in a.schunk.vlmeta if n != "hyperslab"]
    fixed = {n: plain(a.schunk.meta[n]) for n in a.schunk.meta if n != "b2nd"}
    return {n: plain(a.schunk.vlmeta[n]) for n in names}, fixed, a[...].tolist()


if verb == "write":
    save("zero.b2nd", np.zeros((3, 0, 2), "f4"))
    save("zero-sparse.b2nd", np.zeros((0, 5), "i8"), contiguous=False)
    x, y = save("x.b2nd", np.arange(200.0).reshape(10, 20)), save("y.b2nd", np.ones((10, 20)))
    (x + y).save(urlpath="lazyexpr.b2nd")
    blosc2.Proxy(x, urlpath="proxy.b2nd", mode="w")
    v = save("vl.b2nd", np.arange(10), meta={"fixed": {"k": [1, None]}})
    for name, value in {
        "zeros": b"ab\0\0", "empty": b"", "tuple": (1, 2, "x"), "dict": {"a": 1, "b": [1, "x", None]}, "none": None,
        "mixed": [1, "a", 2.5, None, b"q"], "array": np.arange(3), "complex": 1 + 2j, "set": {1, 2},
    }.items():
        v.schunk.vlmeta[name] = value
    save("unicode.b2nd", np.array([f"text {i}" for i in range(3000)], "<U9"))
    save("dims.b2nd", np.arange(2**12).reshape((2,) * 12))
    save("noise.b2nd", np.random.default_rng(2).integers(-(2**31), 2**31, 50_000).astype("i4"), chunks=(50_000,), blocks=(10_000,))
    few = np.random.default_rng(1).integers(0, 100, 100_000).astype("i4")
    with h5py.File("dict.h5", "w") as f:
        for codec in ("LZ4", "LZ4HC", "ZSTD"):
            cparams = {"codec": getattr(blosc2.Codec, codec), "use_dict": True}
            stored = save(f"dict-{codec}.b2nd", few, cparams=cparams, chunks=(50_000,), blocks=(10_000,))
            if not np.array_equal(stored[...], few):
                sys.exit(f"{codec}: python-blosc2 does not read its own")
            d = f.create_dataset(codec, few.shape, few.dtype, chunks=few.shape, **hdf5plugin.Blosc2(cname="lz4"))
            chunk = blosc2.SChunk(chunksize=few.nbytes, data=few, cparams=cparams | {"typesize": 4, "blocksize": 40_000})
            d.id.write_direct_chunk((0,), chunk.to_cframe())
    for name, contiguous in (("objects", True), ("objects-sparse", False)):
        o = blosc2.ObjectArray(urlpath=name + ".b2frame", mode="w", contiguous=contiguous)
        o.extend([{"a": 1}, [1, 2, "x"], None, "long " * 100])
    b = blosc2.BatchArray(urlpath="batch.b2frame", mode="w")
    b.append([1, 2, 3])
    b.append(["a", "b" * 200])
elif verb == "grown":
    noise = blosc2.open("noise.b2nd", mode="r")[...]
    for codec in ("LZ4", "LZ4HC", "ZSTD"):
        few = blosc2.open(f"dict-{codec}.b2nd", mode="r")[...]
        grown = blosc2.open(f"grown-dict-{codec}.b2nd", mode="r")
        if not np.array_equal(grown[...], np.concatenate([few, noise, few])):
            sys.exit(f"{codec}: other values")
else:
    want = metadata("vl.b2nd")
    for file in sys.stdin.read().split():
        got = metadata(file)
        if got != want:
            sys.exit(f"{file}: {got}\nwant {want}")
