"""Prints the elements of datasets as h5py reads them: {file: {name: nested lists}} in JSON.

The input is {file: [name, ...]} in JSON. A dataset that h5py cannot read is {"error": text}.
"""
import json
import sys

import h5py
import numpy as np


def plain(x, file):
    if isinstance(x, h5py.RegionReference):
        return file[x].name if x else None
    if isinstance(x, h5py.Reference):
        return file[x].name if x else None
    if isinstance(x, np.void) and x.dtype.names:
        return [plain(x[n], file) for n in x.dtype.names]
    if isinstance(x, np.void):
        return x.tobytes().hex()
    if isinstance(x, np.ndarray):
        return [plain(y, file) for y in x]
    if isinstance(x, (bytes, np.bytes_)):
        return x.decode("latin-1")
    if isinstance(x, str):
        return x
    if isinstance(x, (complex, np.complexfloating)):
        return [repr(float(x.real)), repr(float(x.imag))]
    if isinstance(x, (bool, np.bool_)):
        return str(int(x))
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    return repr(float(x))


def main():
    out = {}
    for path, names in json.load(sys.stdin).items():
        out[path] = {}
        with h5py.File(path) as file:
            for name in names:
                try:
                    out[path][name] = plain(file[name][()], file)
                except Exception as e:  # h5py raises many kinds for types it lacks
                    out[path][name] = {"error": repr(e)}
    json.dump(out, sys.stdout)


main()
