"""current.py write|check DIR: files of python-blosc2 4, for current_test.go.

write fills DIR with arrays of today's forms; check compares the metalayers of the
files that are named on standard input with those of vl.b2nd.
"""

import os
import sys

import blosc2
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
else:
    want = metadata("vl.b2nd")
    for file in sys.stdin.read().split():
        got = metadata(file)
        if got != want:
            sys.exit(f"{file}: {got}\nwant {want}")
