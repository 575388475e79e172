"""Reads arrays from a server with blosc2.C2Array and compares them with the local files.

Arguments: the address of the server, the directory, a cookie with the token.
"""
import sys
import urllib.request

import blosc2
import numpy as np

base, directory, cookie = sys.argv[1:]
local = blosc2.open(directory + "/grid.b2nd", mode="r")
want = local[:]
remote = blosc2.C2Array("data/grid.b2nd", urlbase=base, auth_token=cookie)
assert remote.shape == local.shape and remote.chunks == local.chunks and remote.blocks == local.blocks, (remote.shape, remote.chunks, remote.blocks)
assert remote.dtype == local.dtype, remote.dtype
for key in (slice(None), (3, slice(2, 9)), (slice(5, 30), slice(None)), (0, 0), (slice(3, 3), 1)):
    got = remote[key]
    assert np.array_equal(got, want[key]) and np.shape(got) == np.shape(want[key]), key
chunks = [np.frombuffer(blosc2.decompress(remote.get_chunk(n)), dtype=local.dtype) for n in range(local.schunk.nchunks)]
for n, chunk in enumerate(chunks):
    stored = np.frombuffer(local.schunk.decompress_chunk(n), dtype=local.dtype)
    assert chunk.size == stored.size, (n, chunk.size, stored.size)
    assert np.array_equal(chunk, stored), n
assert remote.vlmeta["units"] == "m" and remote.vlmeta["levels"] == [1.5, 2.0], remote.vlmeta
hdf5 = blosc2.C2Array("data/tree.h5/a/grid", urlbase=base, auth_token=cookie)
assert np.array_equal(hdf5[4:20, 1], want[4:20, 1])
assert np.array_equal(hdf5[:], want)
proxy = blosc2.Proxy(remote)
assert np.array_equal(proxy[7:33, 3:], want[7:33, 3:])
for file, path in (("grid.b2nd", "/grid"), ("tree.h5", "/a/grid")):
    request = urllib.request.Request(base + "/data?format=b2nd&selection=5:30:2,3&file=" + file + "&path=" + path, headers={"Cookie": cookie})
    with urllib.request.urlopen(request) as answer:
        name, body = directory + "/downloaded.b2nd", answer.read()
    with open(name, "wb") as f:
        f.write(body)
    assert np.array_equal(blosc2.open(name, mode="r")[:], want[5:30:2, 3]), file
try:
    blosc2.C2Array("data/missing.b2nd", urlbase=base, auth_token=cookie)
except FileNotFoundError:
    pass
else:
    raise AssertionError("a missing array was opened")
print("ok")
