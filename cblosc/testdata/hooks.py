"""Writes DIR/pre, a frame whose prefilter adds an element's number to it, and DIR/post, what a postfilter that takes
it away again makes of DIR/go, a frame that was written with the same prefilter elsewhere."""

import sys

import blosc2
import numpy as np

where, chunks, items = sys.argv[1], 3, 5000
i4 = np.dtype("<i4")
options = {"cparams": {"typesize": 4, "nthreads": 1, "blocksize": 4096}, "dparams": {"nthreads": 1}}
s = blosc2.SChunk(chunksize=4 * items, contiguous=True, urlpath=where + "/pre", mode="w", **options)


@s.prefilter(i4, i4)
def before(source, target, offset):
    target[:] = source + np.arange(offset, offset + len(source), dtype=i4)


for i in range(chunks):
    s.append_data(np.arange(items, dtype=i4) * 7 + i)

s = blosc2.open(where + "/go", mode="r", dparams={"nthreads": 1})


@s.postfilter(i4, i4)
def behind(source, target, offset):
    target[:] = source - np.arange(offset, offset + len(source), dtype=i4)


with open(where + "/post", "wb") as out:
    for i in range(chunks):
        out.write(s.decompress_chunk(i))
