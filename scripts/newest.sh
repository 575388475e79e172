#!/usr/bin/env bash
# newest.sh [c-blosc2|hdf5]
# Builds the bindings with -tags system_libs against the newest libraries there are packages of, and runs
# the tests of each and of what stands on it alone: C-Blosc2 from the blosc2 wheel of `make peers`, which
# carries the library, its headers and a pkg-config file for this use; HDF5 from newest/hdf5.sh. What is
# supported say cblosc/versions.h and h5/versions.h.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
need gcc:gcc /usr/include/stdio.h:libc6-dev pkg-config:pkg-config \
    /usr/include/libdeflate.h:libdeflate-dev /usr/include/lz4.h:liblz4-dev /usr/include/zlib.h:zlib1g-dev \
    /usr/include/bzlib.h:libbz2-dev /usr/include/szlib.h:libaec-dev

python=${HYPERSLAB_PYTHON:-.venv/bin/python}
[[ -x $python ]] || die "no $python: run make peers"
wheel=$("$python" -c 'import blosc2, os; print(os.path.dirname(blosc2.__file__))')
[[ -f $wheel/lib/pkgconfig/blosc2.pc ]] || die "the blosc2 wheel in $wheel has no pkg-config file"
hdf5=$root/third_party/newest/hdf5

export PKG_CONFIG_PATH=$wheel/lib/pkgconfig:$hdf5/lib/pkgconfig
export LD_LIBRARY_PATH=$wheel/lib:$hdf5/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# against NAME VERSION PACKAGE ... vets and tests. Go's build cache does not look at what pkg-config says:
# a flag with the version makes it.
against() {
    say "$1 $2"
    CGO_CFLAGS="-O2 -g -DHYPERSLAB_NEWEST=\"$2\"" go vet -tags system_libs "${@:3}"
    CGO_CFLAGS="-O2 -g -DHYPERSLAB_NEWEST=\"$2\"" go test -tags system_libs "${@:3}"
}

# Each function that scripts/api/cblosc.rows calls newer than the pinned library must be an undefined symbol
# of the shim's objects, compiled with the newest library's headers, as make api has it for all others.
newer_are_bound() {
    local tmp missing file cflags
    tmp=$(mktemp -d)
    read -ra cflags <<<"$(pkg-config --cflags blosc2)"
    for file in cblosc/*.c; do # with the warnings of lint.sh, ours only
        gcc -std=c11 -c -Wall -Wextra -Wconversion -Werror -Iinternal/cmem "${cflags[@]/#-I/-isystem}" -o "$tmp/$(basename "$file").o" "$file"
    done
    missing=$(comm -13 <(nm -u "$tmp"/*.o | awk '$1 == "U" { print $2 }' | sort -u) \
        <(awk '$2 == "newer" { print $1 }' scripts/api/cblosc.rows | sort))
    rm -r "$tmp"
    [[ -z $missing ]] || die "scripts/api/cblosc.rows says newer, and no shim calls it: $missing"
}

if [[ ${1:-c-blosc2} == c-blosc2 ]]; then
    newer_are_bound
    against C-Blosc2 "$(pkg-config --modversion blosc2)" ./cblosc/...
fi
if [[ ${1:-hdf5} == hdf5 ]]; then
    "$here/newest/hdf5.sh" "$hdf5"
    version=$(pkg-config --modversion hdf5)
    against HDF5 "$version" ./h5/...
    # What the command tells of the libraries that are linked.
    CGO_CFLAGS="-O2 -g -DHYPERSLAB_NEWEST=\"$version\"" go test -tags system_libs -run '^TestVulnerabilities' ./cmd/hyperslab/internal/cli
fi
