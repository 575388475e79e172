#!/usr/bin/env bash
# system.sh
# Tests -tags system_libs with the system's C-Blosc2 and HDF5, found by pkg-config: the tests of
# both bindings and of the arrays on top. If a library is older than the supported range of
# cblosc/versions.h or h5/versions.h, it tests that the compiler rejects it with the reason. Debian
# 12 and 13 have older libraries.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
need gcc:gcc /usr/include/stdio.h:libc6-dev pkg-config:pkg-config \
    /usr/include/blosc2.h:libblosc2-dev /usr/include/hdf5:libhdf5-dev \
    /usr/include/libdeflate.h:libdeflate-dev /usr/include/lz4.h:liblz4-dev /usr/include/zlib.h:zlib1g-dev \
    /usr/include/zstd.h:libzstd-dev /usr/include/bzlib.h:libbz2-dev /usr/include/szlib.h:libaec-dev

# older VERSION LEAST succeeds if VERSION is below LEAST.
older() { [[ $1 != "$2" && $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

# refused NAME VERSION LEAST PACKAGE expects that a package does not compile, and that the error
# contains the reason.
refused() {
    local said
    ! said=$(go build -tags system_libs "$4" 2>&1) || die "$1 $2 is older than $3, and $4 compiles"
    grep -q "#error \"$1 is older than $3: " <<<"$said" || die "$1 $2 is refused without the reason: $said"
    say "ok: $1 $2 is refused: $(grep -m 1 -o '#error .*' <<<"$said")"
    tested=0
}

tested=1
blosc2=$(pkg-config --modversion blosc2) hdf5=$(pkg-config --modversion hdf5)
say "C-Blosc2 $blosc2, HDF5 $hdf5"
! older "$blosc2" 3.3 || refused C-Blosc2 "$blosc2" 3.3 ./cblosc
! older "$hdf5" 2.2 || refused HDF5 "$hdf5" 2.2 ./h5
((tested)) || exit 0

# Debian compiles HDF5 2.2 with assertions. They end the process for some damaged files, so the tests
# that give such files to libhdf5 are skipped. The tests read this variable.
library=$(ldconfig -p | sed -n 's/.*libhdf5_serial\.so\.[0-9]* .* => //p' | head -n 1)
# Without -q, because grep -q ends before nm has written everything, and then the pipe fails.
if [[ $library ]] && nm -D --undefined-only "$library" | grep __assert_fail >/dev/null; then
    export HYPERSLAB_HDF5_ASSERTIONS=1
    say "libhdf5 has assertions"
fi

# Go's build cache does not depend on the output of pkg-config, so a flag contains the versions.
export CGO_CFLAGS="-O2 -g -DHYPERSLAB_SYSTEM=\"$blosc2-$hdf5\""
go vet -tags system_libs ./cblosc/... ./h5/... ./ndarray/... ./cmd/...
go test -tags system_libs ./cblosc/... ./h5/... ./ndarray/...
go test -tags system_libs -run '^TestVulnerabilities' ./cmd/hyperslab/internal/cli # of the linked releases
