# peer.py PROGRAM JOB FILE DIRECTORY URL: runs a job of main.go and prints its seconds, processor
# time, peak memory and the mean of the elements or the number of datasets. "files" creates the files
# of the peers, and "indexes" those that contain the URL.
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")  # consolidated metadata of Zarr v3
program, job, name, directory, url = sys.argv[1:]
SELECTION = {"region": np.s_[32:96, 100:200, 100:200], "small": np.s_[10:40, 10:40, 10:40], "full": np.s_[:, :, :]}
FILES = ["list.h5", "wide.h5", "big.h5", "small.h5"]
sink = open("/dev/null", "w")
temporary = tempfile.TemporaryDirectory()  # removed when the program ends


def path(name):
    return os.path.join(directory, name)


def create():
    """Zarr v3 and kerchunk references of each file. Their URL is a placeholder."""
    import h5py
    import zarr
    from kerchunk.hdf import SingleHdf5ToZarr

    for file in FILES:
        store = path(file.replace(".h5", ".zarr"))
        if os.path.exists(store + "/zarr.json"):
            continue
        shutil.rmtree(store, ignore_errors=True)
        with h5py.File(path(file)) as f:
            g = zarr.open_group(store, mode="w", zarr_format=3)
            for key, d in f.items():
                a = g.create_array(key, shape=d.shape, dtype=d.dtype, chunks=d.chunks or d.shape)
                a[...] = d[...]
        zarr.consolidate_metadata(store)
        with open(path(file + ".json"), "w") as f:
            json.dump(SingleHdf5ToZarr(path(file), inline_threshold=0).translate(), f)


def indexes():
    """Indexes of python-blosc2: JSON for HDF5, and a cache that has read one element for b2nd."""
    import blosc2
    from blosc2.hdf5_source import scan_hdf5_index

    for file in FILES:
        with open(path(file + ".blosc2"), "w") as f:
            json.dump(scan_hdf5_index(f"{url}/{file}"), f)
    if os.path.exists(path("cache.b2nd")):
        os.remove(path("cache.b2nd"))
    blosc2.open(f"{url}/big.b2nd", lazy=True, cache_path=path("cache.b2nd"))[-1, -1, -1]
    for file in FILES:
        with open(path(file + ".json")) as f:
            refs = json.load(f)
        for key, value in refs["refs"].items():
            if isinstance(value, list):
                value[0] = f"{url}/{file}"
        with open(path(file + ".refs"), "w") as f:
            json.dump(refs, f)


def h5py_job(**cache):
    import fsspec
    import h5py

    fs = fsspec.filesystem("http")

    def run():
        with h5py.File(fs.open(f"{url}/{name}", **cache)) as f:
            if job == "list":
                for key, d in f.items():
                    print(key, d.shape, d.dtype, d.chunks, len(d.attrs), d.id.get_storage_size(), file=sink)
                return len(f)
            return f["x"][SELECTION[job]].mean(dtype="f8")

    return run


def blosc2_job(index):
    import blosc2
    import fsspec.implementations.http  # noqa: F401
    import h5py  # noqa: F401

    if name.endswith(".b2nd"):
        cache = {}
        if index:
            cache = {"cache_path": temporary.name + "/cache.b2nd"}
            shutil.copy(path("cache.b2nd"), cache["cache_path"])
        return lambda: blosc2.open(f"{url}/{name}", lazy=True, **cache)[SELECTION[job]].mean(dtype="f8")
    known = {"hdf5_index": path(name + ".blosc2")} if index else {}

    def run():
        if job == "list":
            with blosc2.RemoteStore(f"{url}/{name}", **known) as s:
                keys = list(s.keys())
                for key in keys:
                    print(s.get_info(key), file=sink)
                return len(keys)
        return blosc2.open(f"{url}/{name}", lazy=True, path="x", **known)[SELECTION[job]].mean(dtype="f8")

    return run


def h5coro_job():
    from h5coro import h5coro, webdriver

    def run():
        h = h5coro.H5Coro(f"{url}/{name}", webdriver.HTTPDriver)
        if job == "list":
            variables, _, _ = h.list("/", w_attr=False)
            for key, v in variables.items():
                print(key, v["__metadata__"].dimensions, file=sink)
            return len(variables)
        region = [] if job == "full" else [(s.start, s.stop) for s in SELECTION[job]]
        return h.readDatasets([{"dataset": "x", "hyperslice": region}])["x"].mean(dtype="f8")

    return run


def zarr_job(references):
    import zarr
    from fsspec.implementations.reference import ReferenceFileSystem
    from obstore.fsspec import FsspecStore
    from obstore.store import HTTPStore

    def group():
        if references:
            remote = FsspecStore("http", client_options={"allow_http": True}, asynchronous=True)
            fs = ReferenceFileSystem(path(name + ".refs"), fs=remote, asynchronous=True)
            return zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True, path=""), mode="r", zarr_format=2)
        http = HTTPStore.from_url(f"{url}/{name.replace('.h5', '.zarr')}", client_options={"allow_http": True})
        return zarr.open_group(zarr.storage.ObjectStore(http, read_only=True), mode="r")

    def run():
        g = group()
        if job == "list":
            n = 0
            for key, a in sorted(g.members()):
                print(key, a.shape, a.dtype, a.chunks, len(a.attrs), file=sink)
                n += 1
            return n
        return g["x"][SELECTION[job]].mean(dtype="f8")

    return run


jobs = {
    "files": lambda: create,
    "indexes": lambda: indexes,
    "h5py": h5py_job,
    # The settings that the documentation of h5py and of cloud-optimized HDF5 recommends.
    "h5py-blocks": lambda: h5py_job(block_size=4 << 20, cache_type="blockcache"),
    "blosc2": lambda: blosc2_job(False),
    "blosc2-index": lambda: blosc2_job(True),
    "h5coro": h5coro_job,
    "kerchunk": lambda: zarr_job(True),
    "zarr": lambda: zarr_job(False),
}
run = jobs[program]()
start, processor = time.perf_counter(), time.process_time()
value = run()
seconds, processor = time.perf_counter() - start, time.process_time() - processor
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
print(json.dumps({"seconds": seconds, "cpu": processor, "peak": peak, "value": float(value or 0)}))
