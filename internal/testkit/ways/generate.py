"""Writes the files of the matrix of ways, reads them with the reference libraries, and records the values.

Usage: python generate.py DIRECTORY < SPECIFICATION

The specification is a JSON list of files: {"name", "format", "dims", "arrays": [{"path", "seed", "dims"}]}.
values.bin receives the bytes of all elements in native byte order, and standard output one JSON object for each
array: where its values are, its type and its shape.
"""
import ctypes
import json
import os
import sys
import zlib

import numpy as np

import reference

OUT = None


def rng(seed):
    return np.random.default_rng(seed)


# --- element types and values ---

def dtype_of(name, order="little"):
    o = {"little": "<", "big": ">"}[order]
    if name == "struct":
        return np.dtype([("a", o + "i4"), ("b", o + "f8"), ("c", "S3")])
    if name == "padded":
        return np.dtype({"names": ["x", "y"], "formats": ["i1", o + "i8"], "offsets": [1, 8], "itemsize": 20})
    if name == "sub":
        return np.dtype((o + "f4", (2, 3)))
    if name == "wide":
        return np.dtype("S300")
    if name == "bool":
        return np.dtype("?")
    if name in ("enum", "bits"):
        return np.dtype(o + {"enum": "i2", "bits": "u2"}[name])
    if name in ("vlenstr", "vlenint"):
        return np.dtype("O")
    if name == "utf8":
        return np.dtype("S7")
    if name.startswith(("S", "V")):
        return np.dtype(name)
    if name.startswith("M8"):
        return np.dtype(o + name)
    return np.dtype(o + name)


FLOATS = {
    2: [0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7D55, 0x0001, 0x7BFF],
    4: [0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F812345, 0x00000001, 0x7F7FFFFF],
    8: [0, 1 << 63, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0123456789ABC, 1,
        0x7FEFFFFFFFFFFFFF],
}


def special(d):
    """The values of a type at which implementations differ."""
    if d.kind == "f":
        return np.array(FLOATS[d.itemsize], f"<u{d.itemsize}").view(f"<f{d.itemsize}")
    if d.kind == "c":
        part = d.itemsize // 2
        f = FLOATS[part]
        return np.array(f + f[::-1], f"<u{part}").view(f"<c{d.itemsize}")
    if d.kind in "iu":
        i = np.iinfo(d)
        near = [2**53 + 1, 2**53 - 1, 2**62 + 1, -(2**53) - 1, 2**63 + 1]
        return np.array([0, i.min, i.max, i.max - 1, 1, i.min + 1] + [x for x in near if i.min <= x <= i.max], d.newbyteorder("<"))
    if d.kind == "M":
        return np.array([0, -(2**63), 2**63 - 1, -1, 1], "i8").view(d.newbyteorder("<"))
    if d.kind == "b":
        return np.array([False, True])
    if d.kind == "S":
        return np.array([b"", b"\xff\xfe"[:d.itemsize], b"\xc3\xa9"[:d.itemsize], b'"', b"a\0b"[:d.itemsize], b"x" * d.itemsize,
                         b",\n"[:d.itemsize], b"NaN"[:d.itemsize]], d)
    if d.kind == "U":
        return np.array(["", "é", "\U0001f600", "a\0b", '"', ",\n", "x" * (d.itemsize // 4)], d)
    return None


def numbers(d, kind, n, g):
    """n elements of a type without fields."""
    out = special(d)
    if kind == "special" and out is not None:
        return np.resize(out, n).astype(d) if d.kind not in "fcM" else swapped(np.resize(out, n), d)
    if kind == "constant" and out is not None:
        return swapped(np.repeat(out[g.integers(len(out))], n), d) if d.kind in "fcM" else np.repeat(out[g.integers(len(out))], n).astype(d)
    if kind == "ramp" and d.kind in "iufcM":
        return (np.arange(n) // 3 % 100).astype("i8").astype(d)
    if d.kind == "b":
        return g.integers(0, 2, n).astype(bool)
    if d.kind == "S":
        return np.array([bytes(g.integers(97, 123, g.integers(0, d.itemsize + 1)).astype("u1")) for _ in range(n)], d)
    if d.kind == "U":
        return np.array(["".join(map(chr, g.integers(0x100, 0xD7FF, g.integers(0, d.itemsize // 4 + 1)))) for _ in range(n)], d)
    return np.frombuffer(g.bytes(n * d.itemsize), d).copy()


def swapped(a, d):
    """The elements of a, little-endian, in the byte order of d, with all bits."""
    raw = a.view(f"<u{d.itemsize // (2 if d.kind == 'c' else 1)}")
    if d.newbyteorder("=").isnative and d.byteorder == ">":
        raw = raw.byteswap()
    return raw.view(d)


def values(name, order, kind, shape, seed):
    g, n = rng(seed), int(np.prod(shape, dtype=np.int64))
    d = dtype_of(name, order)
    if name == "vlenstr":
        pool = ["", "a", "é", "x" * 30, '"', "a,b\nc", "NaN", "\U0001f600"]
        picks = g.integers(0, len(pool), n) if kind != "constant" else np.full(n, 3)
        out = np.empty(n, "O")
        out[:] = [pool[i] for i in picks]
        return out.reshape(shape)
    if name == "vlenint":
        out = np.empty(n, "O")
        for i in range(n):
            out[i] = g.integers(-2**31, 2**31, g.integers(0, 6)).astype(("<" if order == "little" else ">") + "i4")
        return out.reshape(shape)
    if name == "enum":
        return g.integers(0, 4, n).astype(d).reshape(shape)
    if d.names:
        out = np.zeros(n, d)
        for f in d.names:
            out[f] = numbers(d[f], kind, n, g)
        return out.reshape(shape)
    if d.subdtype:
        base, dims = d.subdtype
        return numbers(base, kind, n * int(np.prod(dims)), g).reshape(tuple(shape) + dims)
    return numbers(d, kind, n, g).reshape(shape)


# --- grids ---

def factors(n):
    out, f = [], 2
    while n > 1:
        while n % f == 0:
            out.append(f)
            n //= f
        f += 1
    return out


def layout(rank, chunks, extent, itemsize, g, limit=65536, longer=True):
    """A shape, a chunk shape and a grid of the given number of chunks; longer: a chunk may be longer than the array."""
    grid = [1] * rank
    for f in factors(max(chunks, 1)):
        grid[g.integers(rank)] *= f
    most = max(2, min(64, limit // (max(chunks, 1) * itemsize)))
    chunk = [1] * rank
    for _ in range(12):
        i, f = int(g.integers(rank)), int(g.integers(2, 5))
        if np.prod(chunk) * f <= most:
            chunk[i] *= f
    if max(chunk) == 1:
        chunk[int(g.integers(rank))] = 2
    if extent == "edge" and not longer:
        i = max(range(rank), key=lambda i: grid[i])
        chunk[i] = max(chunk[i], 2)
    shape = [a * b for a, b in zip(grid, chunk)]
    if extent == "edge":
        long = [i for i in range(rank) if chunk[i] > 1 and (longer or grid[i] > 1)]
        for i in long[:1] + [i for i in long[1:] if g.integers(2)]:
            shape[i] -= int(g.integers(1, chunk[i]))
    if extent == "zero":
        shape[int(g.integers(rank))] = 0
    return shape, chunk, grid


def boxes(shape, chunk):
    """The chunks of a shape as tuples of slices, in row-major order."""
    grid = [-(-s // c) for s, c in zip(shape, chunk)]
    for i in np.ndindex(*grid):
        yield tuple(slice(k * c, min((k + 1) * c, s)) for k, c, s in zip(i, chunk, shape))


def pick(stored, n, seed):
    """Whether each of n chunks is stored. The last chunk of a partly stored array usually is."""
    if stored == "all":
        return [True] * n
    if stored == "none":
        return [False] * n
    return [i % 3 == seed % 3 or (i == n - 1 and (seed % 4 > 0 or n <= seed % 3)) for i in range(n)]


# --- HDF5 ---

def hdf5_type(h5py, name, order):
    t, d = h5py.h5t, dtype_of(name, order)
    if name == "bits":
        return (t.STD_B16LE if order == "little" else t.STD_B16BE).copy()
    if name == "enum":
        return t.py_create(h5py.enum_dtype({"A": 0, "B": 1, "C": 2, "D": 3}, basetype=d), logical=True)
    if name == "vlenstr":
        return t.py_create(h5py.string_dtype(), logical=True)
    if name == "vlenint":
        return t.py_create(h5py.vlen_dtype(np.dtype(("<" if order == "little" else ">") + "i4")), logical=True)
    if name == "utf8":
        return t.py_create(h5py.string_dtype("utf-8", 7), logical=True)
    return t.py_create(d, logical=True)


class Fill:
    """H5Pset_fill_value for any type, and without a value, which h5py does not offer."""

    def __init__(self, h5py):
        here = os.path.join(os.path.dirname(os.path.dirname(h5py.__file__)), "h5py.libs")
        name = next(f for f in sorted(os.listdir(here)) if f.startswith("libhdf5-"))
        self.call = ctypes.CDLL(os.path.join(here, name)).H5Pset_fill_value
        self.call.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]

    def set(self, plist, kind, raw):
        if self.call(plist.id, kind.id, raw) < 0:
            raise OSError("H5Pset_fill_value")


FILTERS = {  # number of the filter and its parameters
    "blosc": (32001, (0, 0, 0, 0, 5, 1, 1)), "blosc2": (32026, (0, 0, 0, 0, 5, 1, 1)), "bitshuffle": (32008, (0, 2)),
    "zstd": (32015, (3,)), "lz4": (32004, (0,)), "lzf": (32000, ()),
}


def set_filters(h5py, p, names, d):
    for name in names.split("+"):
        if name == "none":
            pass
        elif name == "deflate":
            p.set_deflate(4)
        elif name == "shuffle":
            p.set_shuffle()
        elif name == "fletcher32":
            p.set_fletcher32()
        elif name == "szip":
            p.set_szip(h5py.h5z.SZIP_NN_OPTION_MASK, 2)
        elif name == "nbit":
            p.set_filter(h5py.h5z.FILTER_NBIT, 0, ())
        elif name == "scaleoffset":
            if d.kind == "f":
                p.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, 2)
            else:
                p.set_scaleoffset(h5py.h5z.SO_INT, 0)
        else:
            number, parameters = FILTERS[name]
            p.set_filter(number, h5py.h5z.FLAG_OPTIONAL, parameters)


def set_fill(h5py, p, v, kind, seed, fillcall):
    times = {"never": h5py.h5d.FILL_TIME_NEVER, "if set": h5py.h5d.FILL_TIME_IFSET, "at allocation": h5py.h5d.FILL_TIME_ALLOC}
    p.set_fill_time(times[v["filltime"]])
    if v["fill"] == "undefined":
        fillcall.set(p, kind, None)
    if v["fill"] == "set":
        fillcall.set(p, kind, values(v["dtype"], v["order"], "random", (1,), seed + 7).tobytes())


def hdf5_virtual(h5py, f, p, name, v, shape, kind, data, seed):
    """Maps every second half of the array to a dataset of this file or of another one."""
    other = f"{os.path.splitext(os.path.basename(f.filename))[0]}-source.h5"
    n = max(1, shape[0] // 2) if v["stored"] == "part" else shape[0]
    source, path = (other, "/" + name) if seed % 2 else (".", "/source_" + name)
    target = h5py.File(os.path.join(os.path.dirname(f.filename), other), "a", libver=("earliest", "v110")) if seed % 2 else f
    ds = h5py.h5d.create(target.id, path.encode(), kind, h5py.h5s.create_simple(tuple([n] + shape[1:])))
    if v["stored"] != "none":
        h5py.Dataset(ds)[...] = data[:n]
    if target is not f:
        target.close()
    whole = h5py.h5s.create_simple(tuple(shape))
    whole.select_hyperslab((0,) * len(shape), tuple([n] + shape[1:]))
    p.set_virtual(whole, source.encode(), path.encode(), h5py.h5s.create_simple(tuple([n] + shape[1:])))


def hdf5_array(h5py, f, a, fillcall):
    v, seed, name = a["dims"], a["seed"], a["path"].strip("/")
    g, rank = rng(seed), int(v["rank"])
    d = dtype_of(v["dtype"], v["order"])
    size = d.itemsize
    chunked = v["chunks"] != "-"
    shape, chunk, grid = ([], [], [])
    if rank:
        limit = 4096 if v["file"].endswith("2") else 65536
        shape, chunk, grid = layout(rank, int(v["chunks"]) if chunked else int(g.integers(1, 9)), v["extent"], size, g, limit, v["max"] != "current")
    kind = hdf5_type(h5py, v["dtype"], v["order"])
    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    p.set_layout({"compact": h5py.h5d.COMPACT, "contiguous": h5py.h5d.CONTIGUOUS, "external": h5py.h5d.CONTIGUOUS,
                  "virtual": h5py.h5d.VIRTUAL}.get(v["index"], h5py.h5d.CHUNKED))
    if chunked:
        p.set_chunk(tuple(chunk))
    p.set_alloc_time({"early": h5py.h5d.ALLOC_TIME_EARLY, "late": h5py.h5d.ALLOC_TIME_LATE,
                      "incremental": h5py.h5d.ALLOC_TIME_INCR}[v["alloc"]]) if v["index"] not in ("virtual", "external", "compact") else None
    set_fill(h5py, p, v, kind, seed, fillcall)
    set_filters(h5py, p, v["filters"], d)
    data = values(v["dtype"], v["order"], v["values"], tuple(shape), seed)
    data = data.astype(h5py.string_dtype("utf-8", 7)) if v["dtype"] == "utf8" else data
    most = list(shape)
    if rank:
        long = max(range(rank), key=lambda i: shape[i])
        if v["max"] == "larger":
            most[long] = max(shape[long], chunk[long]) * 2 + 1
            most = [max(m, c) for m, c in zip(most, chunk)]
        elif v["max"] in ("one", "two"):
            free = [int(x) for x in g.permutation(rank)]
            free.sort(key=lambda i: shape[i] >= chunk[i])  # a chunk that is longer than a dimension needs a larger maximum
            for i in free[:1 if v["max"] == "one" else 2]:
                most[i] = h5py.h5s.UNLIMITED
            most = [m if m == h5py.h5s.UNLIMITED else max(m, c) for m, c in zip(most, chunk)] if chunked else most
    space = h5py.h5s.create(h5py.h5s.SCALAR) if rank == 0 else h5py.h5s.create_simple(tuple(shape), tuple(most))
    if v["index"] == "external":
        n = int(np.prod(shape)) * size
        path = os.path.join(OUT, f"{os.path.basename(f.filename)}-{name}.raw")
        with open(path, "wb") as raw:
            raw.write(b"" if v["stored"] == "none" else b"\1" * (n + 7))
        p.set_external(path.encode(), 7, n)
    if v["index"] == "virtual":
        hdf5_virtual(h5py, f, p, name, v, shape, kind, data, seed)
    ds = h5py.Dataset(h5py.h5d.create(f.id, name.encode(), kind, space, p))
    if v["index"] == "virtual" or v["stored"] == "none" or 0 in shape:
        return
    if rank == 0:
        ds[()] = data[()]
    elif not chunked:
        n = shape[0] if v["stored"] == "all" else max(1, shape[0] // 2)
        ds[:n] = data[:n]
    else:
        hdf5_chunks(h5py, ds, v, data, shape, chunk, seed)


def hdf5_chunks(h5py, ds, v, data, shape, chunk, seed):
    every = list(boxes(shape, chunk))
    d = dtype_of(v["dtype"], v["order"])
    for i, (box, stored) in enumerate(zip(every, pick(v["stored"], len(every), seed))):
        if not stored:
            continue
        full = all(b.stop - b.start == c for b, c in zip(box, chunk))
        if v["mask"] == "some" and i % 2 == seed % 2 and full and v["index"] != "external":
            raw = np.ascontiguousarray(data[box]).tobytes()
            ds.id.write_direct_chunk(tuple(b.start for b in box), raw, (1 << len(v["filters"].split("+"))) - 1)
        else:
            ds[box] = np.ascontiguousarray(data[box])


def hdf5_file(h5py, spec, fillcall):
    kind, path = spec["dims"]["file"], os.path.join(OUT, spec["name"])
    low = {"earliest": ("earliest", "v110"), "v108": ("v108", "v110"), "v110": ("v110", "v110"), "latest": ("latest", "latest")}
    words = kind.split()
    p = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    p.set_sizes(int(words[1]), int(words[1]))
    if "userblock" in kind:
        p.set_userblock(512)
    if "paged" in kind:
        p.set_file_space_strategy(h5py.h5f.FSPACE_STRATEGY_PAGE, True, 1)
        p.set_file_space_page_size(4096)
    bounds = {"earliest": h5py.h5f.LIBVER_EARLIEST, "v108": h5py.h5f.LIBVER_V18, "v110": h5py.h5f.LIBVER_V110,
              "latest": h5py.h5f.LIBVER_LATEST}
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(bounds[words[0]], h5py.h5f.LIBVER_LATEST if words[0] == "latest" else h5py.h5f.LIBVER_V110)
    with h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, fcpl=p, fapl=access)) as f:
        large = np.full(4096 if words[1] == "2" else 300_000, 0x77777777, "i4")
        f.create_dataset("a_large", data=large, chunks=(1000,) if words[1] == "2" else (50_000,))
    # The index of chunks depends on the bounds at creation of the dataset, not of the file.
    for new in (False, True):
        arrays = [a for a in spec["arrays"] if a["dims"]["index"] not in ("large",) and (a["dims"]["format"] == "new") == new]
        if not arrays:
            continue
        with h5py.File(path, "r+", libver=("v110" if new else ("v108" if words[0] == "v108" else "earliest"), "v110")) as f:
            for a in arrays:
                try:
                    hdf5_array(h5py, f, a, fillcall)
                except Exception as e:
                    raise RuntimeError(f"{spec['name']}{a['path']} {a['dims']}: {type(e).__name__}: {e}") from e


# --- Blosc2, Caterva ---

def pipeline(blosc2, names):
    f = {"none": blosc2.Filter.NOFILTER, "shuffle": blosc2.Filter.SHUFFLE, "bitshuffle": blosc2.Filter.BITSHUFFLE,
         "delta": blosc2.Filter.DELTA, "bytedelta": blosc2.Filter.BYTEDELTA, "truncprec": blosc2.Filter.TRUNC_PREC}
    return [f[n] for n in names.split("+")]


def cparams(blosc2, v, d):
    names = v["filters"].split("+")
    return {"codec": getattr(blosc2.Codec, v["codec"].upper()), "clevel": int(v.get("level", "5")), "filters": pipeline(blosc2, v["filters"]),
            "filters_meta": [d.itemsize if n == "bytedelta" else 10 if n == "truncprec" else 0 for n in names], "typesize": min(d.itemsize, 255),
            "nthreads": 1}


def blocks_of(chunk, kind, g):
    if kind == "one":
        return list(chunk)
    out = list(chunk)
    for i in range(len(out)):
        if out[i] > 1:
            out[i] = int(g.integers(1, out[i] + 1)) if kind == "ragged" else max(1, out[i] // 2)
    return out


def b2nd_array(blosc2, path, v, seed, into=None):
    g, rank = rng(seed), int(v["rank"])
    d = dtype_of(v["dtype"], v["order"])
    shape, chunk = [], []
    if rank:
        shape, chunk, _ = layout(rank, int(v["chunks"]), v["extent"], d.itemsize, g)
    data = values(v["dtype"], v["order"], v["values"], tuple(shape), seed)
    if d.subdtype:
        raise ValueError("no sub-arrays")
    kw = {"cparams": cparams(blosc2, v, d)}
    if rank:
        kw |= {"chunks": tuple(chunk), "blocks": tuple(blocks_of(chunk, v["blocks"], g))}
    if into is None:
        kw |= {"urlpath": path, "mode": "w", "contiguous": v["storage"] == "contiguous"}
    kind = v["unstored"]
    if kind == "zeros":
        x = blosc2.zeros(tuple(shape), d, **kw)
    elif kind == "repeated":
        one = {"S": b"ab", "U": "ab"}.get(d.kind, values(v["dtype"], v["order"], "random", (1,), seed + 7)[0])
        x = blosc2.full(tuple(shape), one, d, **kw)
    elif kind == "nan":
        x = blosc2.nans(tuple(shape), d, **kw)
    else:
        x = blosc2.empty(tuple(shape), d, **kw)
    if v["stored"] == "none" or 0 in shape:
        return x
    if rank == 0:
        x[()] = data[()].copy()
    elif v["stored"] == "all" and len(chunk) and int(v["chunks"]) > 6:
        x[...] = data.copy()
    elif v["stored"] == "all":
        # One write for each chunk, as an application that receives the chunks one after the other.
        for box in boxes(shape, chunk):
            x[box] = data[box].copy()
    else:
        every = list(boxes(shape, chunk))
        for box, stored in zip(every, pick("part", len(every), seed)):
            if stored:
                x[box] = data[box].copy()
    return x


def frame(blosc2, path, v, seed):
    """A super-chunk that is no array."""
    size, n = int(v["typesize"]), int(v["chunks"])
    g = rng(seed)
    per = int(g.integers(1, 40)) * size
    s = blosc2.SChunk(chunksize=per, urlpath=path, mode="w", contiguous=v["storage"] == "contiguous",
                      cparams={"codec": getattr(blosc2.Codec, v["codec"].upper()), "filters": pipeline(blosc2, v["filters"]),
                               "filters_meta": [size if f == "bytedelta" else 0 for f in v["filters"].split("+")], "typesize": size, "nthreads": 1})
    for i in range(n):
        last = i == n - 1 and v["extent"] == "edge" and per > size
        part = values(f"V{size}", "little", "random", ((per // size) - (1 if last else 0),), seed + i)
        s.append_data(np.zeros_like(part) if v["values"] == "zeros" and i % 2 else part.copy())


def caterva_array(path, v, seed):
    import caterva
    g, rank = rng(seed), int(v["rank"])
    size = int(v["typesize"])
    shape, chunk, _ = layout(rank, int(v["chunks"]), v["extent"], size, g)
    data = values(f"V{size}", "little", "random", tuple(shape), seed)
    codec = getattr(caterva.Codec, v["codec"].upper())
    names = v["filters"].split("+")
    filters = [getattr(caterva.Filter, {"none": "NOFILTER", "shuffle": "SHUFFLE", "bitshuffle": "BITSHUFFLE", "delta": "DELTA"}[n]) for n in names]
    kw = dict(chunks=tuple(chunk), blocks=tuple(blocks_of(chunk, v["blocks"], g)), urlpath=path, contiguous=v["storage"] == "contiguous",
              codec=codec, clevel=5, filters=filters)
    if v["stored"] == "none":
        caterva.zeros(tuple(shape), size, **kw)
    else:
        caterva.asarray(np.ascontiguousarray(data), **kw)


# --- bcolz, NumPy ---

def bcolz_array(path, v, seed):
    import bcolz
    g, rank = rng(seed), int(v["rank"])
    d = dtype_of(v["dtype"], v["order"])
    inner = [int(g.integers(1, 4)) for _ in range(rank - 1)]
    per = int(np.prod(inner, dtype=int)) * d.itemsize
    rows = int(g.integers(2, max(3, min(40, 65536 // (per * max(1, int(v["chunks"])))))))
    n = rows * int(v["chunks"]) - (1 if v["extent"] == "edge" and int(v["chunks"]) else 0)
    data = values(v["dtype"], v["order"], v["values"], (n, *inner), seed)
    p = bcolz.cparams(clevel=int(v["level"]), shuffle={"none": 0, "byte": 1, "bit": 2}[v["shuffle"]], cname=v["codec"])
    x = bcolz.carray(np.empty((0, *inner), d), chunklen=rows, rootdir=path, mode="w", cparams=p, expectedlen=max(n, 1), safe=False)
    for at in range(0, n, max(1, n // 3)):
        x.append(data[at:at + max(1, n // 3)])
    x.flush()


def bcolz_table(path, v, seed):
    import bcolz
    n = int(v["chunks"]) * 11
    names = ["i8", "f4", "S5", "bool", "u2"]
    columns = [values(t, "little", v["values"], (n,), seed + i) for i, t in enumerate(names)]
    t = bcolz.ctable(columns=columns, names=[f"c{i}" for i in range(len(names))], rootdir=path, mode="w", chunklen=11)
    t.flush()


def npy_array(path, v, seed):
    g, rank = rng(seed), int(v["rank"])
    shape = [int(x) for x in g.integers(1, 4, rank)] if v["extent"] != "zero" else [0] * rank
    data = values(v["dtype"], v["order"], v["values"], tuple(shape), seed)
    data = np.asfortranarray(data) if v["major"] == "column" else data
    with open(path, "wb") as f:
        np.lib.format.write_array(f, data, version=(int(v["version"]), 0))


# --- containers of python-blosc2 ---

def store(blosc2, spec):
    path = os.path.join(OUT, spec["name"])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if spec["format"] == "b2e":
        s = blosc2.EmbedStore(urlpath=path, mode="w")
    else:
        s = blosc2.TreeStore(path, mode="w", threshold=0 if spec["dims"].get("members") == "external" else 2000)
    s["/a_large"] = np.full(300_000, 0x77777777, "i4")
    for a in spec["arrays"]:
        if "storage" in a["dims"]:
            s[a["path"]] = b2nd_array(blosc2, None, a["dims"], a["seed"], into=s)
    if hasattr(s, "close"):
        s.close()


def table(blosc2, spec):
    """A table with nullable columns; the nulls are in the manifest of each column."""
    import dataclasses
    b, v, seed = blosc2, spec["dims"], spec["arrays"][0]["seed"]
    null = v["nulls"] != "none"
    how = {"nullable": True} if v["nulls"] == "mask" else {}
    kinds = {"b": (bool, b.bool), "i": (int, b.int64), "k": (int, b.int16), "f": (float, b.float64), "s": (str, lambda **k: b.string(max_length=4, **k)),
             "u": (str, b.utf8)}
    marks = {}
    if v["nulls"] == "sentinel":
        del kinds["b"]
        marks = {"i": -1, "k": 9, "f": -999.5, "s": "NA", "u": "__NULL__"}
    field = {n: s(**how) if not marks else s(null_value=marks[n]) for n, (t, s) in kinds.items()}
    rows = dataclasses.make_dataclass("Rows", [(n, t, b.field(field[n])) for n, (t, s) in kinds.items()])
    g, n = rng(seed), int(v["rows"])
    pools = {"b": [True, False], "i": [2**53 + 1, -2**63 + 1, 0, 2**63 - 2, -5], "k": [1, -32767, 300], "f": [0.0, -0.0, 1.5, 1e300],
             "s": ["a", "", "é", "x,y"], "u": ["long string of a column", "", "é", '"q"']}
    t = b.CTable(rows, urlpath=os.path.join(OUT, spec["name"]), mode="w")
    lines = []
    for _ in range(n):
        lines.append(tuple(marks.get(k) if null and g.integers(3) == 0 else pools[k][g.integers(len(pools[k]))] for k in kinds))
    t.extend(lines)
    t.close()


# --- all files ---

def main():
    global OUT
    OUT = os.path.abspath(sys.argv[1])
    files = json.load(sys.stdin)
    formats = {f["format"] for f in files}
    h5py = blosc2 = fillcall = None
    if "hdf5" in formats:
        import h5py
        import hdf5plugin  # noqa: F401 registers the filters
        fillcall = Fill(h5py)
    if formats - {"hdf5", "bcolz", "npy", "caterva"}:
        import blosc2
        blosc2.set_nthreads(1)
    with open(os.path.join(OUT, "values.bin"), "wb") as out:
        for spec in files:
            make(spec, h5py, blosc2, fillcall)
            for a in spec["arrays"]:
                try:
                    record = reference.read(spec["format"], os.path.join(OUT, spec["name"]), a["path"])
                except Exception as e:
                    raise RuntimeError(f"read {spec['name']} {a}: {type(e).__name__}: {e}") from e
                raw = record.pop("raw")
                record |= {"file": spec["name"], "path": a["path"], "offset": out.tell(), "bytes": len(raw), "crc": zlib.crc32(raw)}
                out.write(raw)
                print(json.dumps(record))


def make(spec, h5py, blosc2, fillcall):
    path = os.path.join(OUT, spec["name"])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    a = spec["arrays"][0]
    v = a["dims"]
    try:
        if spec["format"] == "hdf5":
            hdf5_file(h5py, spec, fillcall)
        elif spec["format"] == "b2nd":
            b2nd_array(blosc2, path, v, a["seed"])
        elif spec["format"] == "frame":
            frame(blosc2, path, v, a["seed"])
        elif spec["format"] == "caterva":
            caterva_array(path, v, a["seed"])
        elif spec["format"] == "bcolz":
            bcolz_array(path, v, a["seed"])
        elif spec["format"] == "ctable":
            bcolz_table(path, v, a["seed"])
        elif spec["format"] == "npy":
            npy_array(path, v, a["seed"])
        elif spec["format"] == "table":
            table(blosc2, spec)
        else:
            store(blosc2, spec)
    except Exception as e:
        raise RuntimeError(f"{spec['name']} {v}: {type(e).__name__}: {e}") from e


if __name__ == "__main__":
    main()
