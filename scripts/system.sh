#!/usr/bin/env bash
# system.sh
# Builds with -tags system_libs, against the system's own C-Blosc2 and HDF5 by pkg-config, and runs the
# tests of both bindings and of the arrays on top. Debian 13 has both libraries; Debian 12's HDF5 1.10
# is refused by the compiler, with the reason.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
need gcc:gcc /usr/include/stdio.h:libc6-dev pkg-config:pkg-config \
    /usr/include/blosc2.h:libblosc2-dev /usr/include/hdf5:libhdf5-dev

say "C-Blosc2 $(pkg-config --modversion blosc2), HDF5 $(pkg-config --modversion hdf5)"
go vet -tags system_libs ./cblosc/... ./h5/... ./ndarray/... ./cmd/...
go test -tags system_libs ./cblosc/... ./h5/... ./ndarray/...
go test -tags system_libs -run '^TestVulnerabilities' ./cmd/hyperslab/internal/cli # of what is linked
