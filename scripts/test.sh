#!/usr/bin/env bash
# test.sh [PACKAGE ...]
# Runs the tests of `make test`: every package, with samples of the large sets. HYPERSLAB_ALL=1 runs
# the sets completely. Environment:
#
#   RAPID_CHECKS=20   random inputs of each property test
#   TEST_FLAGS=       more flags of go test, for example -race or -v
#   TMPDIR            the directory of temporary files; default: one in memory (/dev/shm) if it has
#                     4 GiB free, because the tests sync thousands of small files
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

[[ ${HYPERSLAB_PYTHON:-} ]] || say "no Python peers: nothing is compared with h5py and python-blosc2 (make peers installs them)"
temporary_directory
export RAPID_CHECKS=${RAPID_CHECKS:-20}
read -ra flags <<<"${TEST_FLAGS:-}"
packages=("$@")
((${#packages[@]})) || packages=(./...)
# NumPy starts a thread for each core, and these threads wait busily. The peers do not need them.
export OPENBLAS_NUM_THREADS=1

# report copies the output of go test without the lines of packages that have no tests. At the end it
# repeats the last lines of each package that failed, because that is where readers of a log look.
report() {
    local line block=() failed=() from
    while IFS= read -r line; do
        [[ $line == *'[no test files]' ]] && continue
        printf '%s\n' "$line"
        block+=("$line")
        case $line in
            $'FAIL\t'*)
                from=$((${#block[@]} > 40 ? ${#block[@]} - 40 : 0))
                failed+=("" "${block[@]:from}")
                block=()
                ;;
            $'ok  \t'*) block=() ;;
        esac
    done
    if ((${#failed[@]})); then
        printf '\n%s: packages that failed:\n' "$self"
        printf '%s\n' "${failed[@]}"
    fi
}

# Three packages at a time on two cores, because many tests wait for other processes. Without vet,
# which make lint runs, and without symbols and debugging information, which take a third of the time
# of linking.
go test -p $(($(nproc) * 3 / 2)) -vet=off -ldflags='-w -s' ${flags[@]+"${flags[@]}"} "${packages[@]}" 2>&1 | report
