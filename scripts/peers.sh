#!/usr/bin/env bash
# peers.sh: makes .venv with the Python libraries that the interoperability tests compare with (h5py
# with hdf5plugin, PyTables, netCDF4 and h5netcdf, python-blosc2, bcolz-zipline, python-caterva,
# NumPy), and .venv-old with releases on C-Blosc2 2.17 and HDF5 1.14, which must open files that are
# written with default options. .venv-remote has the libraries that read URLs. The tests get the
# interpreters from HYPERSLAB_PYTHON, HYPERSLAB_OLD_PYTHON and HYPERSLAB_REMOTE_PYTHON, which the
# Makefile sets if the environments exist. `peers.sh bench` makes .venv-bench instead, with the
# libraries that `make bench` compares with. A second run with the same
# lists of libraries does nothing. The script also installs the shells for tests of completion, and
# the tools of netCDF.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
# Without root the tests report which of them they skip.
if ((EUID == 0)) && [[ ${AUTO_INSTALL:-1} != 0 ]] && command -v apt-get >/dev/null; then
    need zsh:zsh fish:fish zip:zip ncdump:netcdf-bin
fi

# The versions that the tests were last run with. An older interpreter without a wheel of one of
# them fails here, not in a test.
peers=(numpy==2.4.6 h5py==3.16.0 blosc2==4.14.1 bcolz-zipline==1.13.0 hdf5plugin==7.1.0 tables==3.11.1 h5netcdf==1.8.2 netCDF4==1.7.5.1.post1 caterva==0.7.3 h5grove==4.0.0)
# Libraries that read URLs and references: xarray with netCDF4 and h5netcdf, kerchunk, VirtualiZarr and
# obstore, h5coro, and pyfive, which reads HDF5 without libhdf5.
remote=(numpy==2.4.6 h5py==3.16.0 blosc2==4.14.1 fsspec==2026.9.0 s3fs==2026.9.0 aiohttp==3.14.5 xarray==2026.9.0 zarr==3.1.6 kerchunk==0.2.10 pandas==3.1.1 pyarrow==26.0.1 fastparquet==2026.9.0 netCDF4==1.7.5.1.post1 h5netcdf==1.8.2 virtualizarr==2.5.1 obstore==0.12.1 h5coro==1.0.7 pyfive==1.3.0)
# Readers of the volume, which `make bench` compares with (`peers.sh bench`).
bench=(numpy==2.4.6 h5py==3.16.0 hdf5plugin==7.1.0 blosc2==4.14.1 netCDF4==1.7.5.1.post1 zarr==3.1.6 zarrs==0.2.3 tensorstore==0.1.86 b2h5py==0.5.1 hidefix==0.12.0)
# C-Blosc2 2.17.1, HDF5 1.14.6 in h5py and 1.14.2 in netCDF4.
older=(numpy==2.4.6 h5py==3.14.0 blosc2==3.2.1 netCDF4==1.7.2)

python=${PYTHON:-python3}

# environment DIR LIBRARY ... makes a virtual environment with the libraries, unless it exists.
environment() {
    local venv=$1
    shift
    if [[ -x $venv/bin/python && $(cat "$venv/peers" 2>/dev/null) == "$(printf '%s\n' "$@")" ]]; then
        return
    fi
    command -v "$python" >/dev/null || die "no $python; install it (Debian: sudo apt-get install python3-venv)"
    rm -rf "$venv"
    "$python" -m venv "$venv" || { rm -rf "$venv"; die "$python has no venv module (Debian: sudo apt-get install python3-venv)"; }
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: "$@"
    printf '%s\n' "$@" >"$venv/peers"
}

if [[ ${1:-} == bench ]]; then
    environment .venv-bench "${bench[@]}"
    exit
fi
environment .venv "${peers[@]}"
environment .venv-old "${older[@]}"
environment .venv-remote "${remote[@]}"
