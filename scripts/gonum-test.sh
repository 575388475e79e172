#!/usr/bin/env bash
# Tests h5 beside gonum's binding of HDF5, in one process and on one library.
#
# gonum asks the linker for -lhdf5 -lhdf5_hl, and a system's own would win over
# ours. So a folder with those two names, each a linker script that leads to our
# archive, is put first on the link line.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/third_party/build
archive=$build/lib/libgohdf5.a

if [[ ! -f $archive ]]; then
    echo "gonum-test: $archive is missing: run make deps" >&2
    exit 1
fi

mkdir -p "$build/peer"
for name in hdf5 hdf5_hl; do
    echo "INPUT($archive)" >"$build/peer/lib$name.a"
done

cd "$root"
CGO_CFLAGS="-I$build/include" \
    CGO_LDFLAGS="-L$build/peer -L$build/lib -lgohdf5 -lpthread -ldl -lm" \
    exec go test -tags gonum -count=1 -run Gonum "$@" ./h5
