"""Writes the golden chunks, frames and containers that only python-blosc2 writes. Run it in this directory."""

import blosc2
import numpy

words = b"crosscheck reads what every library of the format writes, and compares it with the reference. "
data = b"".join(words[i % 40 :] + b"%d " % (i * i) for i in range(160))[:8000]
for name, codec in ("lz4", blosc2.Codec.LZ4), ("lz4hc", blosc2.Codec.LZ4HC):
    chunk = blosc2.compress2(
        data, codec=codec, clevel=5, typesize=1, blocksize=512, nthreads=1, use_dict=True,
        filters=[blosc2.Filter.NOFILTER], filters_meta=[0], splitmode=blosc2.SplitMode.NEVER_SPLIT,
    )
    assert chunk[31] & 1, "no dictionary"
    assert blosc2.decompress2(chunk) == data
    with open(f"dictionary-{name}.chunk", "wb") as f:
        f.write(chunk)

path = "variable-blocks.b2frame"
blosc2.remove_urlpath(path)
b = blosc2.BatchArray(urlpath=path, mode="w", contiguous=True, cparams={"nthreads": 1})
b.append(["one", {"two": 2}, [3, 3.5, None]])
b.append([bytes(range(64)), "x" * 100])
path = "variable-chunks.b2frame"
blosc2.remove_urlpath(path)
o = blosc2.ObjectArray(urlpath=path, mode="w", contiguous=True, cparams={"nthreads": 1})
o.extend(["short", "long " * 40, 7])
print(blosc2.__version__, blosc2.blosclib_version)

large, small = numpy.arange(600, dtype="<i4").reshape(30, 20), numpy.arange(12, dtype="<i8")
blosc2.remove_urlpath("tree.b2z")
with blosc2.TreeStore("tree.b2z", mode="w", threshold=2000) as t:
    t["/large"] = blosc2.asarray(large, chunks=(10, 20), blocks=(5, 10))
    t["/g/small"] = blosc2.asarray(small, chunks=(12,), blocks=(6,))
    t.vlmeta["unit"] = "m"
    t.get_subtree("/g").vlmeta["count"] = 12
blosc2.remove_urlpath("embed.b2e")
e = blosc2.EmbedStore("embed.b2e", mode="w")
e["/large"] = blosc2.asarray(large, chunks=(10, 20), blocks=(5, 10))
e["/g/small"] = blosc2.asarray(small, chunks=(12,), blocks=(6,))
