# peer.py PROGRAM TASK URL: runs a task of main.go and prints its seconds. PROGRAM is h5py (fsspec
# with default options), h5py-blocks (fsspec with a cache of blocks), h5py-s3fs, or blosc2
# (python-blosc2 over fsspec).
import sys
import time

import fsspec
import h5py
import numpy as np

program, task, url = sys.argv[1:]
REGION = np.s_[0:64, 10:40, 10:40]


def hdf5(name):
    if program == "h5py-s3fs":
        fs = fsspec.filesystem("s3", anon=True, endpoint_url=url)
        return h5py.File(fs.open(f"bucket/{name}"))
    fs = fsspec.filesystem("http")
    if program == "h5py-blocks":
        # The settings that the documentation of h5py and of cloud-optimized HDF5 recommends.
        return h5py.File(fs.open(f"{url}/{name}", block_size=4 << 20, cache_type="blockcache"), rdcc_nbytes=64 << 20)
    return h5py.File(fs.open(f"{url}/{name}"))


sink = open("/dev/null", "w")


def listing(name="list.h5"):
    with hdf5(name) as f:
        for name, d in f.items():
            print(name, d.shape, d.dtype, d.chunks, len(d.attrs), d.id.get_storage_size(), file=sink)


def region(name="big.h5", rows=64):
    with hdf5(name) as f:
        return f["x"][:rows, 10:40, 10:40].mean(dtype="f8")


def full(histogram=False):
    with hdf5("big.h5") as f:
        x = f["x"]
        total, low, high = 0.0, np.inf, -np.inf
        for i in range(0, x.shape[0], 16):
            part = x[i : i + 16]
            total += part.sum(dtype="f8")
            low, high = min(low, part.min()), max(high, part.max())
        if histogram:
            for i in range(0, x.shape[0], 16):
                np.histogram(x[i : i + 16], bins=10, range=(low, high))
        return total


def blosc2_region():
    # python-blosc2 opens local paths only, so that the frame is copied first.
    import tempfile

    import blosc2

    with tempfile.TemporaryDirectory() as tmp:
        fsspec.filesystem("http").get(f"{url}/big.b2nd", f"{tmp}/big.b2nd")
        return blosc2.open(f"{tmp}/big.b2nd", mode="r")[REGION].mean(dtype="f8")


jobs = {
    "list": listing,
    "wide": lambda: listing("wide.h5"),
    "region": region,
    "series": lambda: region("series.h5", 256),
    "full": full,
    "histogram": lambda: full(True),
}
if program == "h5py-s3fs":
    import s3fs  # noqa: F401
job = blosc2_region if program == "blosc2" else jobs[task]
start = time.perf_counter()
job()
print(time.perf_counter() - start)
