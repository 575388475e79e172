"""interop_caterva.py DIR: python-caterva reads the arrays that Go wrote into DIR as list.json
says, and writes each of them again, as NAME.python."""
import json
import os
import sys

import caterva

folder = sys.argv[1]
with open(os.path.join(folder, "list.json")) as f:
    entries = json.load(f)
for e in entries:
    path = os.path.join(folder, e["name"])
    a = caterva.open(path)
    got = [list(a.shape), list(a.chunks), list(a.blocks), a.itemsize]
    want = [e["shape"], e["chunks"], e["blocks"], e["size"]]
    assert got == want, (path, got, want)
    with open(path + ".data", "rb") as f:
        data = f.read()
    assert a.to_buffer() == data, path
    if not e["shape"]:
        continue  # python-caterva reads an array without dimensions and makes none
    b = caterva.from_buffer(data, tuple(e["shape"]), itemsize=e["size"], chunks=tuple(e["chunks"]),
                            blocks=tuple(e["blocks"]), urlpath=path + ".python", contiguous=e["contiguous"],
                            codec=caterva.Codec(e["codec"]), filters=[caterva.Filter(f) for f in e["filters"]],
                            filtersmeta=[0] * len(e["filters"]))
    assert b.to_buffer() == data, path
