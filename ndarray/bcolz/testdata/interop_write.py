"""Reads what the Go tests wrote, and appends to it."""
import json
import os
import shutil
import sys

import bcolz
import numpy as np

# bcolz cannot write the default value of complex arrays, but can open them and append to them.
write = json.dumps


def real_part(value, **options):
    return write(value, default=lambda x: x.real, **options)


root = sys.argv[1]
names = sorted(n for n in os.listdir(root) if not n.endswith((".bin", ".dtype")))
for name in names:
    path = os.path.join(root, name)
    dtype = np.dtype(open(path + ".dtype").read())
    want = open(path + ".bin", "rb").read()
    c = bcolz.carray(rootdir=path, mode="a")
    assert c.dtype == dtype, (name, c.dtype, dtype)
    got = c[:]
    assert got.tobytes() == want, (name, dtype, c.shape, c.cparams)
    meta = {f: open(os.path.join(path, "meta", f), "rb").read() for f in ("sizes", "storage")}
    # The same array made by bcolz has the same metadata; cbytes depends on the
    # version of the codecs.
    other = path + ".again"
    kw = {}
    storage = json.loads(meta["storage"])
    if name and int(name) % 2 == 0:
        kw["chunklen"] = storage["chunklen"]
    json.dumps = real_part
    bcolz.carray(got, rootdir=other, cparams=c.cparams, dtype=dtype, **kw).flush()
    json.dumps = write
    assert open(os.path.join(other, "meta", "storage"), "rb").read() == meta["storage"], (name, meta["storage"], open(os.path.join(other, "meta", "storage")).read())
    a, b = json.loads(meta["sizes"]), json.load(open(os.path.join(other, "meta", "sizes")))
    assert a["shape"] == b["shape"] and a["nbytes"] == b["nbytes"], (name, a, b)
    # Fresh rows go on where we stopped, and the old ones stay.
    c.append(np.zeros((5,) + c.shape[1:], dtype))
    c.flush()
    assert bcolz.carray(rootdir=path)[:len(got)].tobytes() == want, name
    shutil.rmtree(other)
print(len(names), "arrays")
