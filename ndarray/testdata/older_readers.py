"""older.py DIR: reads DIR/manifest.json and the arrays that it names with older releases of the libraries.

A manifest is a list of {"file", "object", "shape", "sha256"}. sha256 is the digest of the elements in C
order, as they are stored. Every array has the attribute units = "kelvin".
"""

import hashlib
import json
import pathlib
import sys

import blosc2
import h5py
import numpy as np


def hdf5(file, name):
    with h5py.File(file, "r") as f:
        dataset = f[name]
        stored = np.zeros(dataset.shape, np.dtype((np.void, dataset.id.get_type().get_size())))
        dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, stored, mtype=dataset.id.get_type())
        return dataset.shape, stored, dataset.attrs["units"]


def b2nd(file):
    array = blosc2.open(file, mode="r")
    return array.shape, array[...], array.schunk.vlmeta["units"]


if not blosc2.blosclib_version.startswith("2.17.") or not h5py.version.hdf5_version.startswith("1.14."):
    sys.exit(f"C-Blosc2 {blosc2.blosclib_version}, HDF5 {h5py.version.hdf5_version}: want 2.17 and 1.14")
root, wrong, right = pathlib.Path(sys.argv[1]), 0, 0
for want in json.loads((root / "manifest.json").read_text()):
    try:
        file = str(root / want["file"])
        shape, values, units = hdf5(file, want["object"]) if want["object"] else b2nd(file)
        digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
        got = {"shape": list(shape), "sha256": digest, "units": units}
    except Exception as error:  # the report names every array that fails
        got = {"error": repr(error)}
    if got != {"shape": want["shape"], "sha256": want["sha256"], "units": "kelvin"}:
        wrong += 1
        print(want["file"], want["object"], want["what"], got)
    else:
        right += 1
print(right, "arrays are right")
sys.exit(1 if wrong else 0)
