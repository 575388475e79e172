"""Writes files of many forms with h5py, python-blosc2 and bcolz. Usage: sources.py DIRECTORY

DIRECTORY/whole gets the files that are mutated. DIRECTORY/forms gets files of rare forms: valid ones, and ones with an
error that a reader of the values does not notice.
"""
import dataclasses
import os
import struct
import sys

import bcolz
import blosc2
import h5py
import hdf5plugin
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t

noise = np.random.default_rng(1)
LATEST, OLDEST = ("latest", "latest"), ("earliest", "v108")


def sets(name, libver, **more):
    """A file with small and chunked datasets, groups and attributes."""
    with h5py.File(name, "w", libver=libver, **more) as f:
        f.attrs["title"] = "a title"
        f.attrs["numbers"] = np.arange(5)
        g = f.create_group("g")
        g["scalar"] = 1.5
        g["contiguous"] = np.arange(40, dtype="i2").reshape(5, 8)
        g.create_dataset("chunked", data=noise.integers(0, 9, (13, 7)), chunks=(4, 3), compression="gzip", shuffle=True)
        g.create_dataset("summed", data=noise.integers(0, 9, 50).astype("f4"), chunks=(10,), fletcher32=True)
        g.create_dataset("grows", data=np.arange(12), chunks=(5,), maxshape=(None,))
        g.create_dataset("both", data=np.arange(12).reshape(3, 4), chunks=(2, 2), maxshape=(None, None))
        g["chunked"].attrs["units"] = np.bytes_("m")
        f["soft"] = h5py.SoftLink("/g/scalar")
        f["hard"] = g["contiguous"]
        f["outside"] = h5py.ExternalLink("other.h5", "/x")


def types(name, libver):
    with h5py.File(name, "w", libver=libver) as f:
        f["strings"] = ["one", "two", "a longer string"]
        f["fixed"] = np.array([b"ab", b"cde"])
        f["utf8"] = np.array(["é".encode(), b"b"], dtype=h5py.string_dtype("utf-8", 5))
        f["compound"] = np.array([(1, 2.5, b"x"), (3, 4.5, b"yz")], dtype=[("i", "i4"), ("f", ">f8"), ("s", "S3")])
        f["bools"] = np.array([True, False])
        f["complex"] = np.array([1 + 2j])
        f.create_dataset("enum", data=[0, 1, 2], dtype=h5py.enum_dtype({"a": 0, "b": 1, "c": 2}, "i1"))
        d = f.create_dataset("sequences", (3,), dtype=h5py.vlen_dtype("i4"))
        d[0], d[1] = [1, 2, 3], [4]
        f["references"] = np.array([f["bools"].ref, f["enum"].ref], dtype=h5py.ref_dtype)
        f["type"] = np.dtype([("x", "f4"), ("y", "f4")])
        f.create_dataset("typed", (4,), dtype=f["type"])
        f["half"] = np.arange(4, dtype="f2")
        f["arrays"] = np.zeros(2, dtype=[("a", "i2", (2, 3))])
        f["opaque"] = np.array([b"abc", b"def"], dtype="V3")
        f["empty"] = h5py.Empty("f8")
        f.create_dataset("zero", (0, 3), dtype="i4")
        f["strings"].attrs["text"] = "variable"
        f["strings"].attrs["list"] = ["p", "q"]


def many(name, libver):
    """Dense storage: links and attributes in heaps with indexes."""
    with h5py.File(name, "w", libver=libver, track_order=libver == LATEST) as f:
        g = f.create_group("links")
        for i in range(60):
            g.create_group(f"member{i:02}")
        o = f.create_group("attributes")
        for i in range(30):
            o.attrs[f"a{i:02}"] = np.arange(i)


def filters(name):
    with h5py.File(name, "w", libver="latest") as f:
        x = noise.integers(0, 100, (16, 16)).astype("i4")
        f.create_dataset("lzf", data=x, chunks=(8, 8), compression="lzf")
        f.create_dataset("blosc2", data=x, chunks=(8, 8), **hdf5plugin.Blosc2())
        f.create_dataset("bitshuffle", data=x, chunks=(8, 8), **hdf5plugin.Bitshuffle())
        f.create_dataset("zstd", data=x, chunks=(8, 8), **hdf5plugin.Zstd())
        f.create_dataset("scaled", data=x, chunks=(8, 8), scaleoffset=8)
        f.create_dataset("rounded", data=x.astype("f4"), chunks=(8, 8), scaleoffset=2)
        f.create_dataset("all", data=x, chunks=(8, 8), shuffle=True, compression="gzip", fletcher32=True)
        f.create_dataset("filled", (16, 16), "i4", chunks=(8, 8), fillvalue=7, compression="gzip")
        f["filled"][:8, :8] = 1
        c = h5p.create(h5p.DATASET_CREATE)
        c.set_chunk((8, 8))
        c.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL, ())
        t = h5t.STD_I32LE.copy()
        t.set_precision(10)
        h5d.create(f.id, b"bits", t, h5s.create_simple((16, 16)), c).write(h5s.ALL, h5s.ALL, x)


def indexes(name):
    """Each kind of chunk index of the new format."""
    with h5py.File(name, "w", libver="latest") as f:
        x = np.arange(48).reshape(6, 8)
        f.create_dataset("single", data=x, chunks=(6, 8), compression="gzip")
        f.create_dataset("fixed", data=x, chunks=(2, 3), compression="gzip", fletcher32=True)
        f.create_dataset("extensible", data=x, chunks=(2, 3), maxshape=(None, 8), compression="gzip")
        f.create_dataset("tree", data=x, chunks=(2, 3), maxshape=(None, None), compression="gzip")
        f.create_dataset("paged", data=np.arange(1500), chunks=(1,), dtype="i2")
        c = h5p.create(h5p.DATASET_CREATE)
        c.set_chunk((2, 3))
        c.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        h5d.create(f.id, b"implicit", h5t.STD_I64LE, h5s.create_simple((6, 8)), c).write(h5s.ALL, h5s.ALL, x)


def special(name, **fcpl):
    """A file with other creation properties."""
    c = h5p.create(h5p.FILE_CREATE)
    a = h5p.create(h5p.FILE_ACCESS)
    a.set_libver_bounds(h5f.LIBVER_EARLIEST, h5f.LIBVER_LATEST)
    for key, value in fcpl.items():
        getattr(c, "set_" + key)(*value)
    with h5py.File(h5f.create(name.encode(), h5f.ACC_TRUNC, c, a)) as f:
        for i in range(4):
            g = f.create_group(f"g{i}")
            g["x"] = np.arange(20 + i)
            g.create_dataset("y", data=np.arange(30), chunks=(7,))
            g["x"].attrs["units"] = "kelvin"


def virtual(name):
    with h5py.File(name, "w", libver="latest") as f:
        f["a"] = np.arange(12).reshape(3, 4)
        l = h5py.VirtualLayout((6, 4), "i8")
        l[0:3] = h5py.VirtualSource(".", "a", (3, 4))
        l[3:5] = h5py.VirtualSource(".", "a", (3, 4))[1:3]
        f.create_virtual_dataset("v", l, fillvalue=-1)


def compact(name):
    c = h5p.create(h5p.DATASET_CREATE)
    c.set_layout(h5d.COMPACT)
    with h5py.File(name, "w", libver=OLDEST) as f:
        h5d.create(f.id, b"c", h5t.STD_I32BE, h5s.create_simple((9,)), c).write(h5s.ALL, h5s.ALL, np.arange(9, dtype=">i4"))
        f.create_dataset("fill", (4, 4), "f8", fillvalue=2.5, chunks=(2, 2))
        f["fill"][0, 0] = 1


def freed(name):
    with h5py.File(name, "w", libver="latest") as f:
        for i in range(120):
            f.create_group(f"g{i:03}_{'n' * (i % 30)}")
        for i in range(0, 120, 3):
            del f[f"g{i:03}_{'n' * (i % 30)}"]


def arrays():
    x = noise.integers(0, 50, (20, 30)).astype("i4")
    some = dict(chunks=(8, 10), blocks=(4, 5))
    for codec in ("LZ4", "ZSTD", "BLOSCLZ", "ZLIB", "LZ4HC"):
        blosc2.asarray(x, urlpath=f"{codec.lower()}.b2nd", cparams=dict(codec=blosc2.Codec[codec], clevel=5), **some)
    a = blosc2.asarray(x.astype("f8"), urlpath="meta.b2nd", meta={"about": {"a": 1}}, **some)
    for i in range(4):
        a.schunk.vlmeta[f"key{i}"] = {"values": list(range(9 * i))}
    blosc2.zeros((30, 30), dtype="f4", urlpath="zeros.b2nd", chunks=(10, 10), blocks=(5, 5))
    blosc2.full((30, 30), 7, dtype="i2", urlpath="full.b2nd", chunks=(10, 10), blocks=(5, 5))
    p = blosc2.zeros((30, 30), dtype="i8", urlpath="partly.b2nd", chunks=(10, 10), blocks=(5, 5))
    p[3:12, 3:12] = 5
    blosc2.asarray(noise.standard_normal((20, 20)), urlpath="filters.b2nd", chunks=(10, 10), blocks=(5, 5),
                   cparams=dict(filters=[blosc2.Filter.TRUNC_PREC, blosc2.Filter.BITSHUFFLE], filters_meta=[20, 0]))
    blosc2.asarray(x.astype("i8"), urlpath="delta.b2nd", cparams=dict(filters=[blosc2.Filter.DELTA, blosc2.Filter.SHUFFLE], filters_meta=[0, 0]), **some)
    blosc2.asarray(np.frombuffer(noise.bytes(4000), "u1"), urlpath="noise.b2nd", chunks=(1000,), blocks=(250,))
    blosc2.asarray(x, urlpath="sparse.b2nd", contiguous=False, **some)
    s = blosc2.SChunk(chunksize=400, urlpath="chunks.b2frame", cparams=dict(typesize=4), mode="w")
    for i in range(5):
        s.append_data(np.arange(100, dtype="i4") * i)
    s.vlmeta["a"] = "b"
    blosc2.SChunk(chunksize=400, data=np.arange(250, dtype="i4"), urlpath="sparse.b2frame", contiguous=False, cparams=dict(typesize=4), mode="w")
    o = blosc2.ObjectArray(urlpath="objects.b2frame", mode="w")
    for v in ({"a": 1}, [1, 2, 3], "text", None):
        o.append(v)


@dataclasses.dataclass
class Row:
    number: int = blosc2.field(blosc2.int64())
    value: float = blosc2.field(blosc2.float64(nullable=True, null_value=float("nan")))
    name: str = blosc2.field(blosc2.string(max_length=8))


def stores():
    with blosc2.CTable(Row, urlpath="table.b2d", mode="w") as t:
        t.extend([(i, i / 2, f"name {i}") for i in range(20)])
    with blosc2.TreeStore("tree.b2z", mode="w") as t:
        t["/a"] = np.arange(30)
        t["/g/b"] = np.linspace(0, 1, 20)
        t["/g/c"] = blosc2.asarray(np.arange(12).reshape(3, 4))
        t.vlmeta["author"] = "somebody"
    with blosc2.TreeStore("tree.b2d", mode="w") as t:
        t["/a"] = np.arange(30)
        t["/g/b"] = np.linspace(0, 1, 20)
    with blosc2.CTable(Row, urlpath="table.b2z", mode="w") as t:
        t.extend([(i, i / 2, f"name {i}") for i in range(20)])
    e = blosc2.EmbedStore(urlpath="embed.b2e", mode="w")
    e["/a"] = np.arange(30)
    e["/b"] = np.ones((3, 4))


def trees():
    """Arrays and tables of bcolz, and a directory of them."""
    def array(name, x, **more):
        c = bcolz.cparams(clevel=5, **more)
        return bcolz.carray(x, rootdir=name, mode="w", cparams=c, chunklen=16)
    x = noise.integers(0, 50, (70, 3)).astype("i4")
    a = array("rows.bcolz", x, cname="lz4")
    a.attrs["title"] = "rows"
    a.attrs["numbers"] = [1, 2, 3]
    array("strings.bcolz", np.array([f"name {i}" for i in range(60)]), cname="zstd", shuffle=bcolz.NOSHUFFLE)
    array("noise.bcolz", np.frombuffer(noise.bytes(600), "u1"), cname="blosclz")
    os.makedirs("tree.bcolz/g")
    array("tree.bcolz/values", x[:, 0].astype("f8"), cname="zlib", shuffle=bcolz.BITSHUFFLE)
    for name in ("table.bcolz", "tree.bcolz/g/table"):
        t = bcolz.ctable((np.arange(40), np.arange(40) / 3, np.array([b"a", b"bc"] * 20)), names=["i", "f", "s"], rootdir=name, mode="w")
        t.attrs["author"] = "somebody"
        t.flush()


def whole():
    sets("oldest.h5", OLDEST)
    sets("latest.h5", LATEST)
    sets("v110.h5", ("v110", "v110"))
    sets("user-block.h5", OLDEST, userblock_size=512)
    sets("pages.h5", LATEST, fs_strategy="page", fs_persist=True, fs_page_size=4096)
    sets("persistent.h5", LATEST, fs_strategy="fsm", fs_persist=True)
    types("types-oldest.h5", OLDEST)
    types("types-latest.h5", LATEST)
    many("many-oldest.h5", OLDEST)
    many("many-latest.h5", LATEST)
    filters("filters.h5")
    indexes("indexes.h5")
    special("sizes.h5", sizes=(4, 4))
    special("order.h5", link_creation_order=(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED,))
    virtual("virtual.h5")
    compact("compact.h5")
    freed("freed.h5")
    arrays()
    stores()
    trees()


def edited(name, other, edit):
    b = bytearray(open(name, "rb").read())
    edit(b)
    open(other, "wb").write(b)


def put(mark, step, value, last=False):
    def edit(b):
        i = b.rfind(mark) if last else b.find(mark)
        assert i >= 0, mark
        b[i + step:i + step + len(value)] = value
    return edit


def no_root(b):
    root = struct.unpack("<Q", b[64:72])[0]
    i = b.find(b"\x11\0\x10\0", root)
    assert i > 0
    b[i] = 0


def forms():
    blosc2.asarray(np.arange(100, dtype="i4"), urlpath="emptied.b2nd", chunks=(10,), blocks=(5,)).resize((0,))
    o = blosc2.ObjectArray(urlpath="popped.b2frame", mode="w")
    o.append(1)
    o.pop()
    s = blosc2.SChunk(chunksize=400, data=np.arange(200, dtype="i4"), urlpath="deleted.b2frame", cparams=dict(typesize=4))
    s.delete_chunk(0)
    s.delete_chunk(0)
    with h5py.File("source.h5", "w") as f:
        f["a"] = np.arange(6).reshape(2, 3)
    for name, shape, sel in (("more", (3, 3), np.s_[:]), ("fewer", (1, 3), np.s_[:]), ("equal", (2, 3), np.s_[:]), ("beyond", (3, 3), np.s_[0:3, 0:2])):
        with h5py.File("virtual-" + name + ".h5", "w") as f:
            source = h5py.VirtualSource("source.h5", "a", shape)
            if name == "beyond":
                source = source[sel]
            l = h5py.VirtualLayout(source.shape, dtype="i8")
            l[:] = source
            f.create_virtual_dataset("v", l)
    with h5py.File("scaled.h5", "w") as f:
        f.create_dataset("x", data=np.arange(64.), chunks=(16,), scaleoffset=2)
    edited("scaled.h5", "scaled-sign.h5", put(struct.pack("<5I", 0, 2, 16, 1, 8), 20, struct.pack("<I", 148433160)))
    freed("freed.h5")
    edited("freed.h5", "freed-sum.h5", put(b"FSHD", 8, b"\xff"))
    with h5py.File("old.h5", "w", libver=OLDEST) as f:
        f.create_group("g")
        f.attrs["a"] = 1
    edited("old.h5", "old-level.h5", put(b"TREE\0\0\0\0", 5, b"\4", last=True))
    edited("old.h5", "old-root.h5", no_root)


def main():
    for write in (whole, forms):
        os.makedirs(os.path.join(sys.argv[1], write.__name__))
        here = os.getcwd()
        os.chdir(os.path.join(sys.argv[1], write.__name__))
        write()
        os.chdir(here)


if __name__ == "__main__":
    main()
