#!/usr/bin/env bash
# peers.sh: makes .venv with the Python libraries that the interoperability tests
# talk to (h5py with hdf5plugin, PyTables, netCDF4 and h5netcdf, python-blosc2, bcolz-zipline, python-caterva, NumPy). The tests take its interpreter from
# HYPERSLAB_PYTHON, which `make test` sets when .venv is there. A second run with
# the same list of libraries does nothing. The shells that completion is tested in and the tools of
# netCDF are peers too.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
# Without root the tests say which of them they leave out.
if ((EUID == 0)) && [[ ${AUTO_INSTALL:-1} != 0 ]] && command -v apt-get >/dev/null; then
    need zsh:zsh fish:fish ncdump:netcdf-bin
fi

# The versions the tests were last run with; an older interpreter that has no
# wheel of one of them fails here, not in a test.
peers=(numpy==2.4.6 h5py==3.16.0 blosc2==4.14.1 bcolz-zipline==1.13.0 hdf5plugin==7.1.0 tables==3.11.1 h5netcdf==1.8.2 netCDF4==1.7.5.1.post1 caterva==0.7.3)

python=${PYTHON:-python3}
venv=.venv
want=$(printf '%s\n' "${peers[@]}")
if [[ -x $venv/bin/python && $(cat "$venv/peers" 2>/dev/null) == "$want" ]]; then
    exit 0
fi
command -v "$python" >/dev/null || { echo "peers: no $python; install it (Debian: sudo apt-get install python3-venv)" >&2; exit 1; }
rm -rf "$venv"
"$python" -m venv "$venv" || { echo "peers: $python has no venv module (Debian: sudo apt-get install python3-venv)" >&2; rm -rf "$venv"; exit 1; }
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: "${peers[@]}"
printf '%s\n' "${peers[@]}" >"$venv/peers"
