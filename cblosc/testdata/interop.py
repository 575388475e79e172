"""The Python half of TestPythonMatrix: python-blosc2 reads what the test wrote, and writes the same for it.

A container is frames one behind the other, and a list that says where each is and what it holds.
"""

import json
import sys
from pathlib import Path

import blosc2
import numpy as np


def pattern(n, dtype):
    """The bytes that both halves expect; a bool is 0 or 1."""
    k = np.arange(n, dtype=np.int64)
    b = ((k * 31 + k // 7) % 251).astype(np.uint8)
    return (b & 1 if dtype == np.dtype("?") else b).tobytes()


def to_dtype(text):
    return np.dtype(eval(text) if text.startswith("[") else text)  # our own test wrote it


def main(folder):
    folder = Path(folder)
    entries = json.loads((folder / "go.json").read_text())
    blob = (folder / "go.frames").read_bytes()
    out, frames = [], bytearray()
    for e in entries:
        what = f"{e['dtype']} {e['shape']} {e['codec']} {e['filters']}"
        dtype, shape = to_dtype(e["dtype"]), tuple(e["shape"])
        want = pattern(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize, dtype)

        a = blosc2.ndarray_from_cframe(blob[e["offset"] : e["offset"] + e["length"]])
        assert a.dtype == dtype, f"{what}: dtype {a.dtype}"
        assert a.shape == shape, f"{what}: shape {a.shape}"
        assert np.asarray(a[()] if shape == () else a[...]).tobytes() == want, f"{what}: values"
        assert a.schunk.cparams.codec.value == e["codec"], f"{what}: codec {a.schunk.cparams.codec}"
        if 0 not in shape:
            assert list(a.chunks) == e["chunks"] and list(a.blocks) == e["blocks"], f"{what}: {a.chunks} {a.blocks}"

        filters = [blosc2.Filter(f) for f in e["filters"]]
        cparams = {"codec": blosc2.Codec(e["codec"]), "clevel": 5, "filters": filters, "filters_meta": [0] * len(filters), "nthreads": 1}
        grid = {} if 0 in shape or shape == () else {"chunks": e["chunks"], "blocks": e["blocks"]}
        b = blosc2.asarray(np.frombuffer(want, dtype=dtype).reshape(shape), cparams=cparams, **grid)
        frame = b.to_cframe()
        out.append({**e, "offset": len(frames), "length": len(frame)})
        frames += frame
    (folder / "python.frames").write_bytes(frames)
    (folder / "python.json").write_text(json.dumps(out))
    print(len(out), "arrays")


main(sys.argv[1])
