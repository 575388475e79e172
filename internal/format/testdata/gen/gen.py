#!/usr/bin/env python3
"""Writes the golden files that come from python-blosc2 (C-Blosc2 3.x).

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install blosc2==4.14.1 numpy==2.4.6
    (cd internal/format/testdata && /tmp/venv/bin/python gen/gen.py)

One thread everywhere, or the bytes would differ from run to run."""

import os

os.environ["BLOSC_NTHREADS"] = "1"

import blosc2
import numpy as np

CPARAMS = {"codec": blosc2.Codec.ZSTD, "clevel": 5, "nthreads": 1}


def save(name, array, **kwargs):
    path = f"frame/py-{name}.b2nd"
    blosc2.remove_urlpath(path)
    return blosc2.asarray(array, urlpath=path, mode="w", cparams=CPARAMS, **kwargs)


# 16 dimensions: the count byte of the arrays is 0xa0.
save("16d", np.arange(8, dtype="<i2").reshape((2, 2, 2) + (1,) * 13))
save("15d", np.arange(8, dtype="<i2").reshape((2, 2, 2) + (1,) * 12))
save("structured", np.zeros(5, dtype=[("a", "<i4"), ("b", "S3"), ("c", "<f8", (2,))]))
save("unicode", np.array(["a", "bcd"], dtype="<U3"))
a = save("vlmeta", np.arange(10.0), chunks=(4,), blocks=(2,))
a.schunk.vlmeta["unit"] = "m/s"
a.schunk.vlmeta["scale"] = [1, 2.5, True, None]

# Frame format 3: chunks of variable length, and with them blocks of variable length.
path = "frame/py-batch.b2frame"
blosc2.remove_urlpath(path)
b = blosc2.BatchArray(urlpath=path, mode="w", contiguous=True, cparams=CPARAMS)
b.append(["one", {"two": 2}, [3, 3.5, None]])
b.append([bytes(range(64)), "x" * 100])
path = "frame/py-objects.b2frame"
blosc2.remove_urlpath(path)
o = blosc2.ObjectArray(urlpath=path, mode="w", contiguous=True, cparams=CPARAMS)
o.extend(["short", "long " * 40, 7])

print(blosc2.__version__, blosc2.blosclib_version)
