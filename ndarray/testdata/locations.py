"""interop.py write|matrix|check DIR: the Python side of interop_test.go.

write fills DIR with arrays written by h5py and python-blosc2 and describes them
in DIR/manifest.json; check reads DIR/manifest.json, which the Go side wrote, and
opens each array it names with the same libraries. matrix is write for arrays of python-blosc2 with every
combination of type, codec, filters, shape and storage: a sample, or with HYPERSLAB_ALL all. A manifest is a list of
  {"file", "object", "dtype", "shape", "sha256", "attrs"}
where sha256 is the digest of the elements in C order and native byte order, and
attrs maps names to plain JSON values.
"""

import hashlib
import itertools
import json
import os
import pathlib
import random
import sys

import blosc2
import h5py
import numpy as np

DTYPES = ["|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8",
          ">i2", ">i4", ">i8", ">u2", ">u8", ">f4", ">f8", "<c8", "<c16", "|S5"]
B2ND_ONLY = ["<U3"]
# shape, chunk shape, block shape
GRIDS = [
    ((), (), ()),
    ((0,), (4,), (2,)),
    ((1,), (1,), (1,)),
    ((17,), (5,), (2,)),
    ((6, 10), (6, 10), (3, 5)),
    ((13, 7, 5), (4, 3, 5), (2, 3, 2)),
    ((4, 6, 5), (4, 6, 5), (2, 3, 5)),  # one chunk, cut into blocks in the middle
]
ATTRS = {"units": "kelvin", "title": "température", "count": 12345678901, "scale": 0.1, "empty": "", "flag": True}


def digest(array):
    native = array.astype(array.dtype.newbyteorder("="))
    return hashlib.sha256(np.ascontiguousarray(native).tobytes()).hexdigest()


def sample(dtype, shape, rng):
    dtype = np.dtype(dtype)
    n = int(np.prod(shape))
    if dtype.kind == "b":
        values = rng.integers(0, 2, n).astype(dtype)
    elif dtype.kind in "iuf":
        values = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype=dtype)
        if dtype.kind == "f":  # NaN payloads are kept by neither side's comparison of values
            values = np.where(np.isnan(values), np.array(1.5, dtype), values).astype(dtype)
    elif dtype.kind == "c":
        values = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)
    elif dtype.kind == "S":
        values = np.array([b"ab", b"", b"hello", b"x y"] * n, dtype=dtype)[:n]
    elif dtype.kind in "mM":
        values = rng.integers(-1000, 1000, n).astype(dtype)
    elif dtype.kind == "U":
        values = np.array(["é", "", "abc", "日本"] * n, dtype=dtype)[:n]
    else:
        values = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype=dtype)
    return values.reshape(shape)


def name_of(dtype, shape):
    order = {"<": "le_", ">": "be_", "|": ""}[dtype[0]]
    return order + dtype[1:] + "_" + ("x".join(map(str, shape)) or "scalar")


def write(root):
    rng = np.random.default_rng(20261120)
    manifest = []
    with h5py.File(root / "h5py.h5", "w") as h5:
        for dtype in DTYPES:
            for shape, chunks, _ in GRIDS:
                array, name = sample(dtype, shape, rng), "g/" + name_of(dtype, shape)
                options = {}
                if shape and 0 not in shape:
                    options = {"chunks": chunks, "compression": "gzip", "shuffle": True, "fletcher32": True}
                dataset = h5.create_dataset(name, data=array, **options)
                dataset.attrs.update(ATTRS)
                manifest.append(entry("h5py.h5", "/" + name, array))
    for dtype in DTYPES + B2ND_ONLY:
        for shape, chunks, blocks in GRIDS:
            array = sample(dtype, shape, rng)
            for contiguous in (True, False):
                file = name_of(dtype, shape) + ("" if contiguous else "_sparse") + ".b2nd"
                stored = blosc2.asarray(array, chunks=chunks, blocks=blocks, urlpath=str(root / file),
                                        contiguous=contiguous, mode="w", cparams={"codec": blosc2.Codec.ZSTD})
                for key, value in ATTRS.items():
                    stored.schunk.vlmeta[key] = value
                manifest.append(entry(file, "", array))
    (root / "manifest.json").write_text(json.dumps(manifest))


MATRIX_DTYPES = DTYPES + ["<U3", "<U9", "<M8[ns]", "<m8[s]"]
# codec, level, dictionary
CODECS = [(c, level, False) for c in ("BLOSCLZ", "LZ4", "LZ4HC", "ZLIB", "ZSTD") for level in (1, 9)]
CODECS += [("ZSTD", 0, False), ("LZ4", 5, True), ("LZ4HC", 5, True), ("ZSTD", 5, True)]
# filters with their parameters; None: the choice of python-blosc2
FILTERS = [None, [], [("SHUFFLE", 0)], [("BITSHUFFLE", 0)], [("DELTA", 0), ("SHUFFLE", 0)], [("SHUFFLE", 0), ("BYTEDELTA", 0)],
           [("TRUNC_PREC", 10), ("SHUFFLE", 0)], [("INT_TRUNC", 5)]]
# shape, chunk shape, block shape; None: the choice of python-blosc2
SHAPES = [((), None, None), ((0,), None, None), ((3, 0, 2), None, None), ((0, 5), (4, 5), (2, 5)), ((1,), None, None),
          ((1000,), (300,), (64,)), ((2000,), None, None), ((13, 7, 5), (4, 3, 5), (2, 3, 2)), ((40, 50), None, None),
          ((2,) * 9, None, None), ((2,) * 10 + (1,) * 6, None, None)]


def possible(dtype, filters):
    """Whether the filters keep values of the type, all but the digits that they cut off."""
    kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
    names = [name for name, _ in filters or []]
    if "TRUNC_PREC" in names:
        return kind == "f" and dtype[0] != ">" and size in (4, 8)
    if "INT_TRUNC" in names:
        return kind in "iu" and dtype[0] != ">"
    return True


def matrix(root):
    combinations = [c for c in itertools.product(MATRIX_DTYPES, CODECS, FILTERS, SHAPES, (True, False)) if possible(c[0], c[2])]
    if not os.environ.get("HYPERSLAB_ALL"):
        combinations = random.Random(20261122).sample(combinations, 240)
    rng = np.random.default_rng(20261122)
    manifest = []
    for i, (dtype, (codec, level, use_dict), filters, (shape, chunks, blocks), contiguous) in enumerate(combinations):
        array = sample(dtype, shape, rng)
        cparams = {"codec": getattr(blosc2.Codec, codec), "clevel": level, "use_dict": use_dict, "nthreads": 1}
        if filters is not None:
            cparams["filters"] = [getattr(blosc2.Filter, name) for name, _ in filters] or [blosc2.Filter.NOFILTER]
            cparams["filters_meta"] = [array.dtype.itemsize if name == "BYTEDELTA" else meta for name, meta in filters] or [0]
        file = f"{i}-{codec}-{level}-{'dict' if use_dict else 'plain'}.b2nd"
        stored = blosc2.asarray(array, chunks=chunks, blocks=blocks, urlpath=str(root / file), contiguous=contiguous, mode="w", cparams=cparams)
        try:
            values = np.asarray(stored[...]).reshape(shape).astype(array.dtype)  # some filters change them
        except RuntimeError:
            print("python-blosc2 does not read its own", dtype, shape, codec, level, use_dict, filters)
            continue
        manifest.append(entry(file, "", values) | {"attrs": {}, "what": f"{dtype} {shape} {codec} {level} {filters}"})
    (root / "manifest.json").write_text(json.dumps(manifest))


def entry(file, obj, array):
    return {"file": file, "object": obj, "dtype": array.dtype.str, "shape": list(array.shape),
            "sha256": digest(array), "attrs": ATTRS}


def plain(value):
    """A value of an attribute as JSON would hold it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    return value


def check(root):
    wrong = 0
    for want in json.loads((root / "manifest.json").read_text()):
        place = want["file"] + ":" + want["object"]
        try:
            if want["object"]:
                with h5py.File(root / want["file"], "r") as h5:
                    dataset = h5[want["object"]]
                    array, attrs = np.asarray(dataset[()]), {k: plain(v) for k, v in dataset.attrs.items()}
                    if array.dtype != dataset.dtype:
                        array = array.astype(dataset.dtype)
            else:
                stored = blosc2.open(str(root / want["file"]), mode="r")
                array = np.asarray(stored[...]).reshape(stored.shape).astype(stored.dtype)
                attrs = {k: plain(stored.schunk.vlmeta[k]) for k in stored.schunk.vlmeta}
                attrs.pop("hyperslab", None)  # our record of exact types
            got = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest(array), "attrs": attrs}
        except Exception as error:  # the report must name every array that fails
            got = {"dtype": repr(error)}
        for key, value in got.items():
            if value != want[key]:
                wrong += 1
                print(f"{place}: {key} is {value!r}, want {want[key]!r}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    {"write": write, "matrix": matrix, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
