"""Reads arrays with the reference libraries: h5py, python-blosc2, python-caterva, bcolz-zipline and NumPy.

As a program it answers requests, one JSON object per line of standard input, until the end of the input. An answer is a
line of JSON with the number of bytes that follow it, which are the elements in native byte order, or with an error.
"""
import json
import os
import struct
import sys

import numpy as np

CELL = 40  # bytes of an element of variable size: a length of 2 bytes and the content


def native(a):
    """The elements in row-major order and native byte order, with all their bits."""
    a = np.asarray(a)
    d = a.dtype
    if d.names or d.subdtype:
        return np.ascontiguousarray(a).astype(d.newbyteorder("=")).tobytes() if d != d.newbyteorder("=") else np.ascontiguousarray(a).tobytes()
    if d.byteorder == ">" or (d.byteorder == "<" and sys.byteorder == "big"):
        a = a.byteswap().view(d.newbyteorder("="))
    return a.tobytes()


def cells(a):
    """Elements of variable size in cells of CELL bytes."""
    out = bytearray()
    for x in np.asarray(a, "O").reshape(-1):
        if isinstance(x, str):
            x = x.encode("utf-8", "surrogateescape")
        elif isinstance(x, np.ndarray):
            x = native(x)
        elif x is None or isinstance(x, (int, float)):
            x = b""
        out += struct.pack("<H", len(x)) + x[:CELL - 2].ljust(CELL - 2, b"\0")
    return bytes(out)


def record(a, **more):
    a = np.asarray(a)
    if a.dtype == object:
        return {"dtype": "cells", "shape": list(a.shape), "size": CELL, "raw": cells(a)} | more
    return {"dtype": str(a.dtype), "shape": list(a.shape), "size": a.dtype.itemsize, "raw": native(a)} | more


def hdf5_dataset(h5py, ds):
    shape, d = ds.shape, ds.dtype
    if d.subdtype:  # h5py appends the dimensions of the sub-array
        a = ds[...]
        return {"dtype": "sub", "shape": list(shape), "size": d.itemsize, "raw": native(a), "chunks": list(ds.chunks or [])}
    a = ds[()] if shape == () else ds[...]
    a = np.asarray(a, "O") if d.kind == "O" else np.asarray(a, d)
    if shape == () and d.kind == "O":
        x = np.empty((), "O")
        x[()] = ds[()]
        a = x
    return record(a, chunks=list(ds.chunks or []))


def read_hdf5(path, name):
    import h5py
    import hdf5plugin  # noqa: F401 registers the filters
    with h5py.File(path, "r", rdcc_nbytes=0) as f:
        return hdf5_dataset(h5py, f[name])


def blosc2_array(blosc2, x):
    if isinstance(x, blosc2.SChunk):
        raw = b"".join(x.decompress_chunk(i) for i in range(x.nchunks))
        return {"dtype": f"|V{x.typesize}", "shape": [len(raw) // x.typesize], "size": x.typesize, "raw": raw,
                "chunks": [x.chunksize // x.typesize]}
    return record(x[()], chunks=list(x.chunks))


def column(c):
    """A column of a table: its values, and which of them are null."""
    null = np.asarray(c.is_null()[:] if hasattr(c, "is_null") else np.zeros(len(c), bool), bool)
    a = c[:]
    if isinstance(a, list) or np.asarray(a).dtype.kind in "OT":
        a = np.array([None if n else x for x, n in zip(a, null)], "O")
    return record(a, nulls=[int(i) for i in np.flatnonzero(null)])


def read_blosc2(path, name):
    import blosc2
    blosc2.set_nthreads(1)  # several threads sometimes read other elements of chunks with the delta filter
    if path.endswith((".b2z", ".b2d", ".b2e")):
        if os.path.basename(path).startswith("table"):
            return column(blosc2.CTable.open(path, mode="r")[name.strip("/")])
        s = blosc2.EmbedStore(urlpath=path, mode="r") if path.endswith(".b2e") else blosc2.TreeStore(path, mode="r")
        return blosc2_array(blosc2, s[name])
    return blosc2_array(blosc2, blosc2.open(path, mode="r", dparams={"nthreads": 1}))


def read_caterva(path, name):
    import caterva
    x = caterva.open(path)
    if 0 in x.shape:
        raw = b""
    else:
        raw = bytes(np.asarray(x.to_buffer() if hasattr(x, "to_buffer") else x[:].to_buffer()).tobytes())
    return {"dtype": f"|V{x.itemsize}", "shape": list(x.shape), "size": x.itemsize, "raw": raw, "chunks": list(x.chunks)}


def read_bcolz(path, name):
    import bcolz
    if name not in ("/", ""):
        return record(bcolz.open(path, mode="r")[name.strip("/")][:])
    x = bcolz.open(path, mode="r")
    return record(x[:], chunks=[x.chunklen])


def read_npy(path, name):
    return record(np.load(path))


READERS = {"hdf5": read_hdf5, "b2nd": read_blosc2, "frame": read_blosc2, "b2z": read_blosc2, "b2d": read_blosc2, "b2e": read_blosc2,
           "table": read_blosc2, "caterva": read_caterva, "bcolz": read_bcolz, "ctable": read_bcolz, "npy": read_npy}


def read(format, path, name):
    return READERS[format](path, name)


def read_kerchunk(path, name):
    """An array through kerchunk references, read by zarr."""
    import zarr
    import fsspec
    fs = fsspec.filesystem("reference", fo=path, remote_protocol="file", asynchronous=False)
    try:
        store = zarr.storage.FsspecStore(fs, read_only=True, path="")
    except TypeError:
        store = fs.get_mapper("")
    x = zarr.open_group(store, mode="r", zarr_format=2)[name.strip("/")]
    a = np.asarray(x[()] if x.shape == () else x[...])
    return record(a.astype("O") if a.dtype.kind == "T" else a)


READERS["kerchunk"] = read_kerchunk


def read_virtualizarr(path, name):
    """An array through kerchunk references, read by VirtualiZarr."""
    import zarr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import KerchunkJSONParser
    store = KerchunkJSONParser()("file://" + path, ObjectStoreRegistry({"file://": LocalStore()}))
    x = zarr.open_group(store, mode="r", zarr_format=3)[name.strip("/")]
    return record(np.asarray(x[()] if x.shape == () else x[...]))


READERS["virtualizarr"] = read_virtualizarr


def read_c2array(path, name):
    """A region of an array of a server: name is PATH|SELECTION, and path is the address of the server."""
    import blosc2
    name, _, selection = name.partition("|")
    x = blosc2.C2Array("data/" + name.strip("/"), urlbase=path)
    key = tuple(slice(*(int(n) for n in axis.split(":"))) for axis in selection.split(",")) if selection else ()
    return record(np.asarray(x[key], x.dtype))


READERS["c2array"] = read_c2array


def astype(x, d):
    """x with the values of type d that are nearest: rounded to even, and clipped to the minimum and maximum."""
    if d.kind in "iub":
        lo, hi = (0, 1) if d.kind == "b" else (int(np.iinfo(d).min), int(np.iinfo(d).max))
        if x.dtype.kind == "f":
            x = [lo if v < lo else hi if v > hi else int(v) for v in np.rint(x.astype("f8")).reshape(-1).tolist()]
        else:
            x = [min(max(int(v), lo), hi) for v in x.reshape(-1).tolist()]
        return np.array(x, "O").astype(d)
    with np.errstate(over="ignore"):
        y = x.astype(d)
    if x.dtype.kind == "f":
        over = np.isinf(y) & np.isfinite(x)
        y[over] = np.copysign(np.finfo(d).max, x[over])
    return y.reshape(-1)


def from_chunks(x):
    """The elements of an array from its whole chunks: C-Blosc2 reads other elements of parts with the delta filter."""
    rank, shape = len(x.shape), [-(-s // c) * c for s, c in zip(x.shape, x.chunks)]
    inner = [-(-c // b) for c, b in zip(x.chunks, x.blocks)]
    out = np.empty(shape, x.dtype)
    for i, at in enumerate(np.ndindex(*(s // c for s, c in zip(shape, x.chunks)))):
        part = np.frombuffer(x.schunk.decompress_chunk(i), x.dtype).reshape([*inner, *x.blocks])
        part = part.transpose([axis + half for axis in range(rank) for half in (0, rank)]).reshape([n * b for n, b in zip(inner, x.blocks)])
        out[tuple(slice(p * c, p * c + c) for p, c in zip(at, x.chunks))] = part[tuple(slice(c) for c in x.chunks)]
    return out[tuple(slice(s) for s in x.shape)]


def read_cast(path, name):
    """The elements of a source, after a comparison with a b2nd array of their values as another type.

    name is FORMAT|PATH|NAME of the source, the type, and the counts of rounded and clipped elements.
    """
    import blosc2
    format, source, inner, dtype, changed = name.split("|")
    r = read(format, source, inner)
    x = np.frombuffer(r["raw"], np.dtype(r["dtype"]).newbyteorder("=")).reshape(r["shape"])
    d = np.dtype(dtype)
    if changed == "refused":
        if not np.isnan(x).any():
            raise ValueError("refused without NaN")
        return r
    y = blosc2.open(path, mode="r", dparams={"nthreads": 1})
    got = np.asarray(from_chunks(y) if blosc2.Filter.DELTA in y.schunk.cparams.filters else y[()]).reshape(-1)
    want = astype(np.array(x), d)
    if got.dtype != d or not np.array_equal(got, want, equal_nan=d.kind == "f"):
        at = np.flatnonzero((got != want) & ((got == got) | (want == want)))[:4] if got.dtype == d else []
        raise ValueError(f"cast to {d}: got {got.dtype} {got[at]}, want {want[at]} at {at}")
    if d.kind == "f" and not np.array_equal(np.signbit(got), np.signbit(want)):
        raise ValueError("signs differ")
    exact = np.array([a == b or a != a for a, b in zip(x.reshape(-1).tolist(), want.tolist())], bool)
    if int(changed) != int((~exact).sum()):
        raise ValueError(f"cast to {d}: got {changed} changed elements, want {(~exact).sum()}")
    return r


READERS["cast"] = read_cast


def small(x, nbytes, kinds="biufcS"):
    """Whether an array has at most 256 KiB, and elements that are booleans, numbers or strings of fixed size."""
    return nbytes <= 1 << 18 and x.dtype.kind in kinds and x.dtype.subdtype is None and x.dtype.names is None


def list_hdf5(path):
    """At most 8 small arrays of an HDF5 file that h5py reads."""
    import h5py
    import hdf5plugin  # noqa: F401 registers the filters
    names = []

    def visit(name, x):
        try:
            if isinstance(x, h5py.Dataset) and x.shape is not None and small(x, x.size * x.dtype.itemsize):
                names.append("/" + name)
        except Exception:  # h5py has no type for the elements
            pass
        return True if len(names) == 8 else None

    with h5py.File(path, "r") as f:
        f.visititems(visit)
    return names


def list_b2nd(path):
    """The array of a frame, if it is small."""
    import blosc2
    x = blosc2.open(path, mode="r")
    if isinstance(x, blosc2.NDArray):
        return ["/"] if small(x, x.size * x.dtype.itemsize, "biufcSV") else []
    return ["/"] if isinstance(x, blosc2.SChunk) and x.nbytes <= 1 << 18 else []


def main():
    for line in sys.stdin:
        q = json.loads(line)
        try:
            if q["format"].startswith("list "):
                r = {"names": (list_hdf5 if q["format"] == "list hdf5" else list_b2nd)(q["path"]), "raw": b""}
            else:
                r = read(q["format"], q["path"], q["name"])
        except Exception as e:
            r = {"error": f"{type(e).__name__}: {e}", "raw": b""}
        raw = r.pop("raw")
        sys.stdout.buffer.write(json.dumps(r | {"bytes": len(raw)}).encode() + b"\n" + raw)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
