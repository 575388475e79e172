"""The Python half of TestPythonPipelines: python-blosc2 reads arrays with up to six filters, and writes arrays for the test.

python-blosc2 can store other values than it was given, because C-Blosc2 changes its source. So the test compares with what
python-blosc2 reads back.
"""

import json
import sys
from pathlib import Path

import blosc2
import numpy as np


def main(folder):
    folder = Path(folder)
    for e in json.loads((folder / "go.json").read_text()):
        name, what = folder / e["name"], str(e)
        a = blosc2.open(f"{name}.b2nd", mode="r")
        want = np.fromfile(f"{name}.bin", dtype=e["dtype"]).reshape(e["shape"])
        assert [f.value for f in a.schunk.cparams.filters if f.value] == e["filters"], f"{what}: {a.schunk.cparams.filters}"
        assert (a[...] == want).all(), f"{what}: values"
        meta = [want.dtype.itemsize if f == 35 else 0 for f in e["filters"]]
        cparams = {"codec": blosc2.Codec(e["codec"]), "clevel": 5, "filters": [blosc2.Filter(f) for f in e["filters"]],
                   "filters_meta": meta, "nthreads": 1}
        b = blosc2.asarray(want.copy(), urlpath=f"{name}.python.b2nd", mode="w", chunks=e["chunks"], blocks=e["blocks"], cparams=cparams)
        b[...].tofile(f"{name}.python.bin")


main(sys.argv[1])
