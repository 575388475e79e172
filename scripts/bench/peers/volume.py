"""volume.py: readers of the volume, one array of 16-bit integers in several formats; peer.h describes the protocol.

volume.py zarr RAW EDGE CHUNK SHARD OUT                            write RAW, EDGE³ integers, as a sharded Zarr array
volume.py read LIBRARY OPERATION CACHE LOCATION COUNT BOX...       read it; LOCATION is PATH or PATH:/DATASET
volume.py rechunk IN OUT                                           the chunks of IN:/counts as larger ones; one run

OPERATION is whole, or boxes: COUNT boxes at random places, which are multiples of the box if it is a whole chunk.
CACHE is warm, or cold: the pages of the files are dropped from the page cache before each run.
"""

import importlib
import importlib.metadata
import os
import sys
import time

from peer import checksum, cpu, draw

CHUNK = 64
MISSING = 42


def open_h5py(path, name):
    import h5py
    import hdf5plugin  # noqa: F401, registers its filters

    return h5py.File(path)[name]


def open_b2h5py(path, name):
    import b2h5py.auto  # noqa: F401, replaces slicing of h5py

    return open_h5py(path, name)


def open_netcdf4(path, name):
    import netCDF4

    if open_netcdf4.file:
        open_netcdf4.file.close()  # otherwise its cache of chunks is used again
    open_netcdf4.file = file = netCDF4.Dataset(path)  # the variable does not keep it
    file.set_auto_maskandscale(False)
    return file[name]


open_netcdf4.file = None


def open_hidefix(path, name):
    import hidefix

    return hidefix.Index(path)[name]


def open_blosc2(path, _):
    import blosc2

    return blosc2.open(path, mode="r")


def open_zarr(path, _):
    import zarr

    return zarr.open_array(path, mode="r")


def open_zarrs(path, name):
    import zarr
    import zarrs  # noqa: F401

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    return open_zarr(path, name)


class Tensor:
    def __init__(self, path):
        import tensorstore as ts

        self.store = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}, open=True, read=True).result()
        self.shape = self.store.shape

    def __getitem__(self, at):
        return self.store[at].read().result()


OPEN = {
    "h5py": open_h5py,
    "b2h5py": open_b2h5py,
    "netCDF4": open_netcdf4,
    "hidefix": open_hidefix,
    "blosc2": open_blosc2,
    "zarr": open_zarr,
    "zarrs": open_zarrs,
    "tensorstore": lambda path, _: Tensor(path),
}


def drop(path):
    """Drop the pages of a file, or of all files in a directory."""
    for directory, _, files in os.walk(path) if os.path.isdir(path) else [(os.path.dirname(path), [], [os.path.basename(path)])]:
        for name in files:
            fd = os.open(os.path.join(directory, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def read(library, operation, cache, location, count, *box):
    try:
        importlib.import_module(library)
    except ImportError:
        sys.exit(MISSING)
    path, _, name = location.partition(":")
    name = name.strip("/")
    box = [int(b) for b in box]
    every = tuple(slice(None) for _ in box)

    def whole():
        whole.out = OPEN[library](path, name)[every]
        return "done=0"

    def boxes():
        a = OPEN[library](path, name)
        state, total = 1, 0
        for _ in range(int(count)):
            at = []
            for n, b in zip(a.shape() if callable(a.shape) else a.shape, box):  # a method in hidefix
                step = b if b == CHUNK else 1
                state, k = draw(state, n // step if step > 1 else n - b + 1)
                at.append(slice(k * step, k * step + b))
            total += int(a[tuple(at)].reshape(-1)[0])
        return f"sum={total}"

    run = whole if operation == "whole" else boxes
    run()
    if operation == "whole":
        print(f"sum={checksum(whole.out)}")
    print(f"version={importlib.metadata.version(library)}")
    print("ready", flush=True)
    for _ in sys.stdin:
        if cache == "cold":
            drop(path)
        c, w = cpu(), time.monotonic_ns()
        found = run()
        w = time.monotonic_ns() - w
        print(f"{w} {cpu() - c} {found}", flush=True)


def zarr(raw, edge, chunk, shard, out):
    import numpy as np
    import zarr
    from zarr.codecs import BloscCodec

    edge, chunk, shard = int(edge), int(chunk), int(shard)
    values = np.memmap(raw, "<u2", "r", shape=(edge,) * 3)
    a = zarr.create_array(
        out,
        shape=values.shape,
        chunks=(chunk,) * 3,
        shards=(shard,) * 3,
        dtype="uint16",
        compressors=BloscCodec(cname="zstd", clevel=1, shuffle="shuffle", typesize=2),
    )
    for at in range(0, edge, shard):
        a[at : at + shard] = values[at : at + shard]


def rechunk(source, target):
    import h5py

    print(f"version={h5py.__version__}")
    with h5py.File(source) as f, h5py.File(target, "w") as g:
        d = f["counts"]
        rows, columns = d.shape
        wide = min(10, columns)
        out = g.create_dataset("counts", d.shape, d.dtype, chunks=(rows, wide), compression="gzip", compression_opts=4, shuffle=True)
        step = max(wide, (256 << 20) // (rows * d.dtype.itemsize) // wide * wide)
        for at in range(0, columns, step):
            out[:, at : at + step] = d[:, at : at + step]


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
