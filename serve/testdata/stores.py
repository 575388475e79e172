"""Writes containers and tables with several columns, or reads them from a server.

Arguments: "write" and a directory; or "read", the address of a server, a cookie with the token and a
directory. The routes are those of blosc2.C2Array: info, fetch, chunk and download.
"""
import json
import sys
import urllib.request

import blosc2
import numpy as np

grid = np.arange(60, dtype="i4").reshape(6, 10)
columns = {"n": np.arange(7, dtype="i8") - 3, "x": np.arange(7) / 4, "s": np.array([b"a", b"bc", b"", b"d", b"e", b"f", b"gh"], dtype="S2")}


def write(directory):
    import bcolz

    store = blosc2.EmbedStore(directory + "/embed.b2e", mode="w")
    store["/a/grid"] = grid
    store["/one"] = np.linspace(0, 1, 5)
    del store
    tree = blosc2.TreeStore(directory + "/tree.b2z", mode="w")
    tree["/a/grid"] = grid
    tree.close()
    bcolz.ctable(tuple(columns.values()), names=list(columns), rootdir=directory + "/table.bcolz", mode="w")


def read(base, cookie, directory):
    wanted = {"embed.b2e/a/grid": grid, "embed.b2e/one": np.linspace(0, 1, 5), "tree.b2z/a/grid": grid}
    for name, values in columns.items():
        wanted["table.bcolz/" + name] = values
        if name != "s":
            wanted["columns.b2z/" + name] = values
    for path, want in wanted.items():
        remote = blosc2.C2Array("data/" + path, urlbase=base, auth_token=cookie)
        assert remote.shape == want.shape and remote.dtype == want.dtype, (path, remote.shape, remote.dtype)
        assert np.array_equal(remote[:], want), path
        assert np.array_equal(remote[2:5], want[2:5]), path
        first = np.frombuffer(blosc2.decompress(remote.get_chunk(0)), dtype=want.dtype)
        part = want[tuple(slice(0, n) for n in remote.chunks)]
        padded = np.zeros(remote.chunks, want.dtype)
        padded[tuple(slice(0, n) for n in part.shape)] = part
        assert np.array_equal(first.reshape(remote.chunks), padded), path

    def get(route):
        with urllib.request.urlopen(urllib.request.Request(base + route, headers={"Cookie": cookie})) as answer:
            return answer.read()

    for name in ("embed.b2e", "tree.b2z"):
        with open(directory + "/" + name, "rb") as f:
            assert get("/api/download/data/" + name) == f.read(), name
    assert "embed.b2e" in json.loads(get("/api/list/data"))


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    read(*sys.argv[2:])
print("ok")
