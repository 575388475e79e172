"""interop_sparse.py DIR: python-blosc2 reads the sparse array and super-chunk that Go
wrote into DIR, with their metalayers, and writes the like, as *.python."""
import os
import sys

import blosc2
import numpy as np

folder = sys.argv[1]
want = np.arange(13 * 17, dtype="<i4").reshape(13, 17)

a = blosc2.open(os.path.join(folder, "array"), mode="r")
assert isinstance(a, blosc2.NDArray) and a.shape == (13, 17) and a.chunks == (5, 8) and a.blocks == (3, 5), a.info
assert a.dtype == want.dtype and (a[:] == want).all()
assert dict(a.schunk.vlmeta.getall()) == {"unit": "meter"}, a.schunk.vlmeta.getall()

s = blosc2.open(os.path.join(folder, "schunk"), mode="r")
assert not isinstance(s, blosc2.NDArray) and s.nchunks == 3 and not s.contiguous
assert s[:] == want.tobytes()
assert s.meta["kind"] == "note", s.meta
assert s.vlmeta["unit"] == "meter"

b = blosc2.asarray(want, chunks=(5, 8), blocks=(3, 5), urlpath=os.path.join(folder, "array.python"), contiguous=False)
b.schunk.vlmeta["unit"] = "meter"
t = blosc2.SChunk(chunksize=4 * 17 * 5, data=want.tobytes(), cparams={"typesize": 4}, contiguous=False,
                  urlpath=os.path.join(folder, "schunk.python"), meta={"kind": "note"})
t.vlmeta["unit"] = "meter"
