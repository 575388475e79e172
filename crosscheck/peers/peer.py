"""The Python peers: answers questions, a line of JSON each, as main.go asks them.

    python peer.py NAME [--version]
"""
import json
import os
import sys

name = sys.argv[1]


def content(path):
    with open(path, "rb") as f:
        return f.read()


def h5py_(path, case):
    import h5py
    import hdf5plugin  # noqa: F401  registers its filters
    import numpy

    with h5py.File(path, "r") as f:
        node, _, attribute = case["object"].partition("@")
        o = f[node]
        if attribute:
            o = o.attrs.get_id(attribute)
            if o.shape is None:
                return b""
            v = numpy.zeros(o.shape, o.dtype)
            o.read(v)
            return v.tobytes()
        if o.shape is None:
            return b""
        return numpy.asarray(o[()]).tobytes()


def tables_(path, case):
    import numpy
    import tables

    with tables.open_file(path, "r") as f:
        o = f.get_node(case["object"])
        if isinstance(o, tables.UnImplemented):
            raise NotImplementedError("UnImplemented")
        want = case.get("decoded", {}).get("dtype")
        v = numpy.asarray(o.read())
        if want and v.dtype.str != want and v.dtype.newbyteorder(want[0]).str == want:
            v = v.astype(want)  # numbers in the order of this machine
        return v.tobytes()


def pyfive_(path, case):
    import numpy
    import pyfive

    with pyfive.File(path) as f:
        o = f[case["object"]]
        return numpy.asarray(o[()]).tobytes()


def numcodecs_(path, case):
    import numcodecs.blosc

    return bytes(numcodecs.blosc.decompress(content(path)))


def blosc2_(path, case):
    import blosc2

    if case["area"] == "blosc1":
        return blosc2.decompress(content(path))
    if case["area"] == "chunk":
        return blosc2.decompress2(content(path))
    if case["area"] == "frame":
        s = blosc2.open(path, mode="r")
        return b"".join(s.decompress_chunk(i) for i in range(s.nchunks))
    a = blosc2.open(path, mode="r")
    if not isinstance(a, blosc2.NDArray):
        raise TypeError(f"opens as {type(a).__name__}")
    return a[()].tobytes() if a.size else b""


def bcolz_(path, case):
    import bcolz

    a = bcolz.open(path, mode="r")
    if "object" in case:
        a = a[case["object"]]
    return a[:].tobytes() if len(a) else b""


modules = {
    "h5py": (h5py_, "h5py"), "tables": (tables_, "tables"), "pyfive": (pyfive_, "pyfive"), "numcodecs": (numcodecs_, "numcodecs"),
    "blosc2": (blosc2_, "blosc2"), "bcolz": (bcolz_, "bcolz-zipline"),
}
read, package = modules[name]

if "--version" in sys.argv:
    import importlib.metadata

    print(importlib.metadata.version(package))
    sys.exit()

# What a library prints must not come between the answers.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in sys.stdin:
    question = json.loads(line)
    answer = {"error": ""}
    try:
        b = read(question["path"], question["case"])
        with open(question["out"], "wb") as f:
            f.write(b)
    except Exception as e:
        answer["error"] = f"{type(e).__name__}: {e}"
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
