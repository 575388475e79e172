"""Reads the ctable that the Go tests wrote, argv[1], changes its length in each of
bcolz's ways, and leaves its records in argv[1].bin."""
import sys

import bcolz
import numpy as np

path = sys.argv[1]
t = bcolz.ctable(rootdir=path, mode="a")
want = np.frombuffer(open(path + ".bin", "rb").read(), t.dtype)
assert t.names == ["id", "tag", "pos", "when"], t.names
assert len(t) == len(want), (len(t), len(want))
assert t[:].tobytes() == want.tobytes(), (t[:3], want[:3])
assert t.attrs["unit"] == "K", dict(t.attrs)
t.attrs["seen"] = 1
t.append(want[:100])
t.trim(7)
t.resize(len(t) + 70)
t.flush()
again = bcolz.ctable(rootdir=path, mode="r")
assert len(again) == 1000 + 100 - 7 + 70
assert again[:1093].tobytes() == np.concatenate([want, want[:93]]).tobytes()
open(path + ".bin", "wb").write(again[:].tobytes())
