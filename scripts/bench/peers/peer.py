"""peer.py: what h5py with hdf5plugin and python-blosc2 do, as the peers of chunkio and ndarray; peer.h says how it
talks.

peer.py read FILE DATASET                    all of it by h5py, in a file opened anew for each run
peer.py slices FILE DATASET COUNT BOX...     COUNT random boxes of BOX elements by h5py
peer.py tables FILE DATASET                  all of it by PyTables
peer.py array FILE                           all of a b2nd array by python-blosc2
peer.py convert FILE DATASET OUT             HDF5 to b2nd as a script does it; one run, and ends
peer.py versions                             of all of them
"""

import importlib.metadata
import resource
import sys
import time


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return int(1e9 * (u.ru_utime + u.ru_stime))


def serve(run, key, found=None, *libraries):
    if found is not None:
        print(f"sum={found}")
    print("version=" + version(*libraries))
    print("ready", flush=True)
    for _ in sys.stdin:
        c, w = cpu(), time.monotonic_ns()
        found = run()
        w = time.monotonic_ns() - w
        print(f"{w} {cpu() - c} {key}={found}", flush=True)


def version(*libraries):
    return "_".join(importlib.metadata.version(library) for library in libraries)


def checksum(a):
    import numpy as np

    return int(np.ascontiguousarray(a).reshape(-1).view(np.uint32).sum(dtype=np.uint64))


def draw(state, below):
    state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
    return state, (state >> 33) % below


def read(path, name):
    import h5py
    import hdf5plugin  # noqa: F401, registers its filters
    import numpy as np

    with h5py.File(path) as f:
        out = np.empty(f[name].shape, f[name].dtype)

    def run():
        with h5py.File(path) as f:
            f[name].read_direct(out)
        return 0

    run()
    serve(run, "done", checksum(out), "h5py", "hdf5plugin")


def slices(path, name, count, *box):
    import h5py
    import hdf5plugin  # noqa: F401
    import numpy as np

    box = [int(b) for b in box]
    out = np.empty(box, "f4")

    def run():
        state, total = 1, 0
        with h5py.File(path) as f:
            d = f[name]
            space = d.id.get_space()
            memory = h5py.h5s.create_simple(tuple(box))
            for _ in range(int(count)):
                at = []
                for n, b in zip(d.shape, box):
                    state, k = draw(state, n - b + 1)
                    at.append(k)
                space.select_hyperslab(tuple(at), tuple(box))
                d.id.read(memory, space, out)
                total += int(out.reshape(-1)[:1].view("u4")[0])
        return total

    serve(run, "sum", None, "h5py", "hdf5plugin")


def tables(path, name):
    import tables

    def run():
        with tables.open_file(path) as f:
            run.out = f.get_node("/" + name).read()
        return 0

    run()
    serve(run, "done", checksum(run.out), "tables")


def array(path):
    import blosc2

    def run():
        run.out = blosc2.open(path, mode="r")[...]
        return 0

    run()
    serve(run, "done", checksum(run.out), "blosc2")


def convert(path, name, out):
    import blosc2
    import h5py
    import hdf5plugin  # noqa: F401

    print("version=" + version("h5py", "blosc2"))
    with h5py.File(path) as f:
        d = f[name]
        a = blosc2.empty(d.shape, d.dtype, chunks=d.chunks, urlpath=out, mode="w", cparams={"codec": blosc2.Codec.ZSTD, "clevel": 5})
        for at in range(0, d.shape[0], d.chunks[0]):
            a[at : at + d.chunks[0]] = d[at : at + d.chunks[0]]


def versions():
    import blosc2
    import h5py
    import hdf5plugin
    import numpy
    import tables

    print(
        f"h5py {h5py.__version__} (HDF5 {h5py.version.hdf5_version}), hdf5plugin {hdf5plugin.version},"
        f" python-blosc2 {blosc2.__version__} (C-Blosc2 {blosc2.blosclib_version}), PyTables {tables.__version__}, NumPy {numpy.__version__}"
    )


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
