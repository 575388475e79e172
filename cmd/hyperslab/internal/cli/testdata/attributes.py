"""Writes and checks attributes of JSON that no element type represents.

attributes.py make DIR       a carray and a ctable with such attributes
attributes.py check PATH...  compare those of carrays, ctables and .b2nd files with the same values
"""
import os
import sys

import bcolz
import blosc2
import numpy as np

want = {
    "nested": {"a": [1, None, {"b": "x", "": 2.5}], "c": {}},
    "mixed": [1, "a", True, -7.0, [], 2**64 - 1],
    "ragged": [[1], [2, 3]],
    "null": None,
    "plain": "text",
}
verb, *paths = sys.argv[1:]
if verb == "make":
    array = bcolz.arange(10, rootdir=os.path.join(paths[0], "a.bcolz"))
    columns = [np.arange(5), np.ones(5)]
    table = bcolz.ctable(columns, names=["x", "y"], rootdir=os.path.join(paths[0], "table.bcolz"))
    for a in array, table:
        for name, value in want.items():
            a.attrs[name] = value
        a.flush()
    sys.exit()
for path in paths:
    opened = blosc2.open(path) if path.endswith(".b2nd") else bcolz.open(path, mode="r")
    got = opened.vlmeta if path.endswith(".b2nd") else opened.attrs
    for name, value in want.items():
        assert repr(got[name]) == repr(value), (path, name, got[name])
