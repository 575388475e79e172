"""The Python peers: an adapter of crosscheck. The first argument is the name of the peer."""

import importlib.metadata
import json
import os
import sys


class Skip(Exception):
    """The interface of the library cannot express the case."""


def content(path):
    with open(path, "rb") as f:
        return f.read()


def comparable(dtype):
    if not dtype:
        raise Skip
    return dtype


def elements(data, dtype, shape):
    import numpy

    v = numpy.fromfile(data, comparable(dtype))
    if v.size != numpy.prod(shape, dtype=int):
        raise Skip  # a null dataspace
    return v.reshape(shape)


def h5py_read(path, area, obj, dtype, item):
    import h5py
    import hdf5plugin  # noqa: F401  registers its filters
    import numpy

    comparable(dtype)
    with h5py.File(path, "r") as f:
        node, _, attribute = obj.partition("@")
        o = f[node]
        if attribute:
            o = o.attrs.get_id(attribute)
            if o.shape is None:
                return b""
            v = numpy.zeros(o.shape, o.dtype)
            o.read(v)
            return v.tobytes()
        if o.shape is None:
            return b""
        return numpy.asarray(o[()]).tobytes()


def h5py_write(data, out, area, obj, dtype, item, shape, spec):
    import h5py

    v = elements(data, dtype, shape)
    if v.dtype.kind == "c":
        raise Skip  # h5py stores complex numbers as compounds
    with h5py.File(out, "w") as f:
        node, _, attribute = obj.partition("@")
        if attribute:
            o = f if node == "/" else f.create_group(node)
            o.attrs.create(attribute, v)
        else:
            f.create_dataset(node, data=v)


def tables_read(path, area, obj, dtype, item):
    import numpy
    import tables

    comparable(dtype)
    if "@" in obj:
        raise Skip
    with tables.open_file(path, "r") as f:
        o = f.get_node(obj)
        if isinstance(o, tables.UnImplemented):
            raise NotImplementedError("UnImplemented")
        v = numpy.asarray(o.read())
        if v.dtype.str != dtype and v.dtype.newbyteorder(dtype[0]).str == dtype:
            v = v.astype(dtype)  # numbers in the order of this machine
        return v.tobytes()


def tables_write(data, out, area, obj, dtype, item, shape, spec):
    import tables

    if "@" in obj or obj.rfind("/") > 0 or dtype[:2] in ("|b", "|S", "<c", ">c") or not shape:
        raise Skip  # PyTables stores booleans as bitfields, strings with a terminator, complex numbers as compounds
    with tables.open_file(out, "w") as f:
        f.create_array("/", obj[1:], obj=elements(data, dtype, shape))


def pyfive_read(path, area, obj, dtype, item):
    import numpy
    import pyfive

    comparable(dtype)
    if "@" in obj:
        raise Skip
    with pyfive.File(path) as f:
        return numpy.asarray(f[obj][()]).tobytes()


def numcodecs_read(path, area, obj, dtype, item):
    import numcodecs.blosc

    return bytes(numcodecs.blosc.decompress(content(path)))


def numcodecs_write(data, out, area, obj, dtype, item, shape, spec):
    import numcodecs.blosc
    import numpy

    size = spec["must"]["typesize"]
    b = content(data)
    if len(b) % size:
        raise Skip
    v = numpy.frombuffer(b, f"V{size}")
    with open(out, "wb") as f:
        f.write(numcodecs.blosc.compress(v, b"lz4", 5, 1))


def blosc2_read(path, area, obj, dtype, item):
    import blosc2

    if area == "blosc1":
        return blosc2.decompress(content(path))
    if area == "chunk":
        return blosc2.decompress2(content(path))
    if area == "store":
        return store_read(path, obj)
    if area == "frame":
        s = blosc2.open(path, mode="r")
        s = getattr(s, "schunk", s)  # an array of objects has one
        return b"".join(s.decompress_chunk(i) for i in range(s.nchunks))
    a = blosc2.open(path, mode="r")
    if not isinstance(a, blosc2.NDArray):
        raise TypeError(f"opens as {type(a).__name__}")
    return a[()].tobytes() if a.size else b""


def store_read(path, obj):
    import blosc2

    store = blosc2.EmbedStore(path, mode="r") if path.endswith(".b2e") else blosc2.TreeStore(path, mode="r")
    keys = list(store.keys())
    below = obj.rstrip("/") + "/"
    if any(key.startswith(below) for key in keys):  # a group
        names = sorted({key[len(below):].partition("/")[0] for key in keys if key.startswith(below)} - {""}, key=str.encode)
        lines = []
        for name in names:
            if any(key.startswith(below + name + "/") for key in keys):
                kind = "group"
            else:
                v = store[below + name]
                kind = "group" if isinstance(v, blosc2.TreeStore) else "array" if isinstance(v, blosc2.NDArray) else "frame"
            lines.append(f"{kind}\t{name}\n")
        return "".join(lines).encode()
    v = store[obj]
    if isinstance(v, blosc2.NDArray):
        return v[()].tobytes() if v.size else b""
    return v[:]


def store_write(data, out, obj, dtype, shape, kind):
    import ast

    import blosc2
    import numpy

    v = numpy.frombuffer(content(data), numpy.dtype(ast.literal_eval(dtype) if dtype.startswith("[") else comparable(dtype))).reshape(shape)
    path = f"{out}.{kind}"  # the library chooses the kind by the extension
    if kind == "b2e":
        blosc2.EmbedStore(path, mode="w")[obj] = blosc2.asarray(v)
    else:
        with blosc2.TreeStore(path, mode="w") as store:
            store[obj] = blosc2.asarray(v)
    os.rename(path, out)


def blosc2_write(data, out, area, obj, dtype, item, shape, spec):
    import ast

    import blosc2

    must = spec["must"]
    if area == "chunk":
        b = content(data)
        if must["header"] != 32 or not b:
            raise Skip
        chunk = blosc2.compress2(b, typesize=must["typesize"])
        with open(out, "wb") as f:
            f.write(chunk)
    elif area == "store":
        store_write(data, out, obj, dtype, shape, spec["params"]["kind"])
    elif area == "frame":
        if must["meta"] or must["vlmeta"]:
            raise Skip  # python-blosc2 stores metalayers as MessagePack
        cparams = {"typesize": must["typesize"]}
        blosc2.SChunk(chunksize=must["chunksize"] or None, data=content(data), urlpath=out, cparams=cparams, contiguous=True)
    else:
        import numpy

        kind = numpy.dtype(ast.literal_eval(dtype) if dtype.startswith("[") else comparable(dtype))
        v = numpy.frombuffer(content(data), kind).reshape(shape)
        blosc2.asarray(v, urlpath=out, chunks=must["chunks"], blocks=must["blocks"])


def bcolz_read(path, area, obj, dtype, item):
    import bcolz

    a = bcolz.open(path, mode="r")
    if obj:
        a = a[obj]
    return a[:].tobytes() if len(a) else b""


def bcolz_write(data, out, area, obj, dtype, item, shape, spec):
    import bcolz

    if obj:
        raise Skip
    bcolz.carray(elements(data, dtype, shape), rootdir=out).flush()


# Each peer: package, areas, areas that it writes, read, write, command that reads a file without the adapter.
peers = {
    "h5py": ("h5py", ["hdf5"], ["hdf5"], h5py_read, h5py_write, "python -c 'import h5py, hdf5plugin; print(h5py.File({in})[{object}][()])'"),
    "tables": ("tables", ["hdf5"], ["hdf5"], tables_read, tables_write, "python -c 'import tables; print(tables.open_file({in}).get_node({object}).read())'"),
    "pyfive": ("pyfive", ["hdf5"], [], pyfive_read, None, "python -c 'import pyfive; print(pyfive.File({in})[{object}][()])'"),
    "numcodecs": (
        "numcodecs", ["blosc1"], ["blosc1"], numcodecs_read, numcodecs_write,
        "python -c 'import numcodecs.blosc as b; print(bytes(b.decompress(open({in}, \"rb\").read())))'",
    ),
    "blosc2": (
        "blosc2", ["chunk", "blosc1", "frame", "b2nd", "store"], ["chunk", "frame", "b2nd", "store"], blosc2_read, blosc2_write,
        "python -c 'import blosc2; print(blosc2.open({in}, mode=\"r\")[:])'",
    ),
    "bcolz": ("bcolz-zipline", ["bcolz"], ["bcolz"], bcolz_read, bcolz_write, "python -c 'import bcolz; print(bcolz.open({in}, mode=\"r\")[:])'"),
}


def main():
    name = sys.argv[1]
    package, reads, writes, read, write, alone = peers[name]
    version = importlib.metadata.version(package)
    __import__({"bcolz-zipline": "bcolz"}.get(package, package))
    # A library must not write between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answers.write(f"hyperslab.crosscheck.adapter/1\t{name}\t{version}\t{alone}\n")
    answers.flush()
    for line in sys.stdin:
        verb, source, out, area, obj, dtype, item, *rest = line.rstrip("\n").split("\t")
        answer = "ok"
        try:
            if area not in (reads if verb == "read" else writes):
                answer = "skip"
            elif verb == "read":
                b = read(source, area, obj, dtype, int(item))
                with open(out, "wb") as f:
                    f.write(b)
            else:
                shape = [int(n) for n in rest[0].split(",") if n]
                with open(rest[1]) as f:
                    spec = json.load(f)
                write(source, out, area, obj, dtype, int(item), shape, spec)
        except Skip:
            answer = "skip"
        except Exception as e:
            answer = "refused\t" + f"{type(e).__name__}: {e}".replace("\t", " ").replace("\n", " ")
        answers.write(answer + "\n")
        answers.flush()


main()
