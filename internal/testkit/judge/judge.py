"""Reads everything in files with the reference libraries: all elements and attributes with h5py, python-blosc2 and bcolz.

Each line of standard input is a JSON object with the path of a file and the time limit in seconds. Each answer is a line
of JSON: "outcome" is "reads", "fails", "crashes", "slow" or "large" (more elements than the limit), "why" is the error, and
"digest" covers the names and values. A child process reads each file, because the libraries end the process for some
files.
"""
import hashlib
import json
import multiprocessing
import os
import resource
import struct
import sys
import tempfile
import zipfile

import bcolz
import blosc2
import h5py
import hdf5plugin  # noqa: F401 registers the filters
import msgpack
import numpy

PIECE = 8 << 20    # bytes of a read
MOST = 128 << 20   # bytes of a file
GRID = 100000      # chunks of a dataset, stored or not
MEMORY = 4 << 30   # bytes of address space more than at the start


class Large(Exception):
    """There are more elements than the judge reads."""


class Reader:
    """Reads a file and computes the digest."""

    def __init__(self):
        self.sum = hashlib.sha256()
        self.left = MOST

    def add(self, *values):
        for v in values:
            if isinstance(v, numpy.ndarray) and v.dtype != object and not v.dtype.hasobject:
                self.sum.update(repr((v.dtype, v.shape)).encode() + v.tobytes())
            elif isinstance(v, bytes):
                self.sum.update(v)
            else:
                self.sum.update(repr(v.tolist() if isinstance(v, numpy.ndarray) else v).encode("utf-8", "surrogatepass"))

    def take(self, size):
        self.left -= size
        if self.left < 0:
            raise Large


def tried(r, read, raw, tid, shape):
    """Elements as h5py returns them or, if h5py has no such type, as stored."""
    try:
        r.add(read())
    except Exception:
        n = int(numpy.prod(shape, dtype=object))
        b = numpy.zeros(n * tid.get_size(), "u1")
        if n:
            raw(b, tid)
        r.add(len(b))


def hdf5_attributes(r, o):
    names = []
    for i in range(h5py.h5a.get_num_attrs(o.id)):
        names.append(h5py.h5a.open(o.id, index=i).name)
    for name in sorted(names):
        a = h5py.h5a.open(o.id, name)
        tid = a.get_type()
        r.add(name, a.shape)
        if a.get_space().get_simple_extent_type() == h5py.h5s.NULL:
            continue
        r.take(int(numpy.prod(a.shape, dtype=object)) * tid.get_size())

        def read():
            b = numpy.zeros(a.shape, a.dtype)
            if b.size:
                a.read(b)
            return b
        tried(r, read, lambda b, t: a.read(b, mtype=t), tid, a.shape)


def hdf5_links(r, g):
    names = []
    g.id.links.iterate(names.append)
    for name in sorted(names):
        kind = g.id.links.get_info(name).type
        r.add(name, kind)
        if kind in (h5py.h5l.TYPE_SOFT, h5py.h5l.TYPE_EXTERNAL):
            r.add(g.id.links.get_val(name))


def hdf5_stored(r, ds, size):
    """The stored chunks of a dataset with more elements than the judge reads."""
    if ds.chunks is None:
        if ds.is_virtual or ds.external or ds.id.get_offset() is not None:
            raise Large
        ds[tuple(slice(0, 1) for _ in ds.shape)]
        return
    n = ds.id.get_num_chunks()
    r.take(n * size * int(numpy.prod(ds.chunks, dtype=object)))
    for i in range(n):
        at = ds.id.get_chunk_info(i).chunk_offset
        r.add(at, ds[tuple(slice(a, min(a + c, s)) for a, c, s in zip(at, ds.chunks, ds.shape))])


def hdf5_dataset(r, ds):
    r.add(ds.shape, ds.maxshape)
    if ds.shape is None:
        return
    tid = ds.id.get_type()
    n = int(numpy.prod(ds.shape, dtype=object)) * tid.get_size()
    grid = numpy.prod([-(-s // c) for s, c in zip(ds.shape, ds.chunks)], dtype=object) if ds.chunks else 1
    if n > MOST // 2 or grid > GRID:
        hdf5_stored(r, ds, tid.get_size())
        return
    r.take(n)

    def read():
        if n > PIECE:
            rows = max(1, PIECE * ds.shape[0] // n)
            for at in range(0, ds.shape[0], rows):
                r.add(ds[at:at + rows])
            return None
        x = ds[()]
        return x if ds.dtype.kind == "O" else numpy.asarray(x)
    tried(r, read, lambda b, t: ds.id.read(h5py.h5s.ALL, h5py.h5s.ALL, b, t), tid, ds.shape)


def hdf5_open(path):
    """The file. The first member opens a set of files if it names the driver."""
    try:
        return h5py.File(path, "r")
    except OSError:
        with open(path, "rb") as f:
            head = f.read(4096)
        if b"NCSAfami" in head and path.endswith("00000.h5"):
            return h5py.File(path.replace("00000.h5", "%05d.h5"), "r", driver="family", memb_size=os.path.getsize(path))
        if b"NCSAmult" in head and path.endswith("-m.h5"):
            return h5py.File(path.removesuffix("-m.h5"), "r", driver="split", meta_ext=b"-m.h5", raw_ext=b"-r.h5")
        raise


def hdf5(r, path):
    with hdf5_open(path) as f:
        def visit(name):
            o = f[name]
            r.add(name, type(o).__name__)
            hdf5_attributes(r, o)
            if isinstance(o, h5py.Group):
                hdf5_links(r, o)
            elif isinstance(o, h5py.Dataset):
                hdf5_dataset(r, o)
            else:
                o.id.get_size()
        visit("/")
        f.visit(visit)


def chunks(r, s):
    """The metalayers and chunks of a frame."""
    for layers in (s.meta, s.vlmeta):
        for k in sorted(layers):
            try:
                r.add(k, layers[k])
            except (ValueError, msgpack.exceptions.UnpackException):  # bytes that python-blosc2 did not write
                if layers is s.vlmeta:
                    blosc2.blosc2_ext.vlmeta.get_vlmeta(layers, k)
    r.take(s.nbytes)
    for i in range(s.nchunks):
        r.add(s.decompress_chunk(i))


def frame(r, x):
    """An open frame and its values."""
    s = getattr(x, "schunk", x)
    if isinstance(x, blosc2.C2Array) or not isinstance(s, blosc2.SChunk):
        raise TypeError(f"{type(x).__name__} has no chunks")
    r.add(type(x).__name__)
    if isinstance(x, (blosc2.NDArray, blosc2.SChunk)):
        chunks(r, s)
    if isinstance(x, blosc2.NDArray):
        r.add(x.shape)
        r.take(x.nbytes)
        if x.dtype.itemsize == s.typesize or len(s.meta["b2nd"]) > 5:
            r.add(numpy.asarray(x[()]))  # otherwise the array has no dtype
    elif not isinstance(x, blosc2.SChunk):
        for v in x:
            r.add(v)


def table(r, t):
    for name in t.col_names:
        c = t[name]
        a = c[:]
        r.add(name, a if isinstance(a, list) else numpy.asarray(a))
        if hasattr(c, "is_null"):
            r.add(numpy.asarray(c.is_null()[:] if hasattr(c.is_null(), "__getitem__") else c.is_null()))


def store(r, path):
    s = blosc2.EmbedStore(urlpath=path, mode="r") if path.endswith(".b2e") else blosc2.open(path, mode="r")
    if isinstance(s, blosc2.CTable):
        table(r, s)
        return
    for k in sorted(s.keys()):
        x = s[k]
        r.add(k)
        if isinstance(x, blosc2.CTable):
            table(r, x)
        elif not isinstance(x, blosc2.TreeStore):
            frame(r, x)
    if hasattr(s, "vlmeta"):
        for k in sorted(s.vlmeta):
            r.add(k, s.vlmeta[k])


def members(r, path):
    """The frames of a container and their checksums."""
    if path.endswith(".b2d"):
        for folder, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                chunks_at(r, os.path.join(folder, name), 0)
        return
    with zipfile.ZipFile(path) as z:
        if z.testzip():
            raise ValueError("CRC-32 of " + z.testzip())
        infos = z.infolist()
    with open(path, "rb") as f:
        for i in infos:
            f.seek(i.header_offset + 26)
            a, b = struct.unpack("<HH", f.read(4))
            if i.file_size:
                chunks_at(r, path, i.header_offset + 30 + a + b)


def chunks_at(r, path, offset):
    x = blosc2.blosc2_ext.open(path, "r", offset)
    chunks(r, getattr(x, "schunk", x))
    if isinstance(x, blosc2.NDArray):
        r.take(x.nbytes)
        x[()]


def bcolz_tree(r, path):
    """A carray, a ctable, or a directory of them."""
    is_table = os.path.exists(os.path.join(path, "__rootdirs__"))
    if not is_table and not os.path.exists(os.path.join(path, "meta")):
        for name in sorted(os.listdir(path)):
            r.add(name)
            bcolz_tree(r, os.path.join(path, name))
        return
    x = bcolz.open(path, mode="r")
    r.add(x.shape, sorted(x.attrs.getall().items()))
    columns = [x[name] for name in x.names] if is_table else [x]
    for c in columns:
        r.add(c.dtype.str, c.shape, sorted(c.attrs.getall().items()))
        r.take(c.nbytes)
        r.add(c[:])


def read(path):
    r = Reader()
    if path.endswith((".b2z", ".b2d", ".b2e")):
        store(r, path)
        if not path.endswith(".b2e"):
            members(r, path)
    elif path.endswith(".bcolz"):
        bcolz_tree(r, path)
    elif path.endswith(".npy"):
        r.add(numpy.load(path))
    elif path.endswith((".b2nd", ".b2frame")):
        frame(r, blosc2.open(path, mode="r"))
    else:
        hdf5(r, path)
    return r.sum.hexdigest()


def child(path, out):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        out.send({"outcome": "reads", "digest": read(path)})
    except Large:
        out.send({"outcome": "large"})
    except BaseException as e:
        out.send({"outcome": "fails", "why": (type(e).__name__ + ": " + str(e)).replace("\n", " ")[:300]})
    os._exit(0)


def main():
    blosc2.set_nthreads(1)
    context = multiprocessing.get_context("fork")
    for line in sys.stdin:
        q = json.loads(line)
        here, there = context.Pipe(False)
        with tempfile.TemporaryDirectory() as scratch:  # python-blosc2 unpacks containers
            tempfile.tempdir = scratch
            p = context.Process(target=child, args=(q["path"], there))
            p.start()
            there.close()
            try:
                answer = here.recv() if here.poll(q["seconds"]) else {"outcome": "slow"}
            except EOFError:
                answer = {"outcome": "crashes"}
            p.kill()
            p.join()
            tempfile.tempdir = None
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
