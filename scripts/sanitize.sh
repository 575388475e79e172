#!/usr/bin/env bash
# sanitize.sh deps|test
# deps builds the C libraries with AddressSanitizer, UndefinedBehaviorSanitizer and their assertions
# into third_party/sanitized/build; test also runs on them the tests of the packages that reach C, and
# the hostile files (`make hostile`, in the mode that has the C code in one process). Environment:
#
#   PACKAGES=./cblosc/... ./h5/... ./ndarray/...    what is tested
#   MUTANTS=4000                                    of hostile
#
# A report of AddressSanitizer ends the test that met it. What UBSan says is counted and printed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:allocator_may_return_null=1}
prefix=$root/third_party/sanitized/build
mkdir -p "${prefix%/*}"
# No -DNDEBUG: assertions live. Frames and line numbers make a report worth reading.
CC=$here/sanitize/cc DEPS_PREFIX=$prefix DEPS_CACHE=${DEPS_CACHE:-$root/third_party/cache} DEPS_NEED_MB=1500 \
    DEPS_CFLAGS="-O1 -g -fPIC" "$here/deps.sh"
[[ $1 == test ]] || exit 0

# The directives of the packages name third_party/build; what comes first wins.
export CGO_ENABLED=1 CC=$here/sanitize/cc
export CGO_CFLAGS="-O1 -g -I$prefix/include" CGO_LDFLAGS="-L$prefix/lib"
log=$(mktemp) && trap 'rm -f "$log"' EXIT
read -ra packages <<<"${PACKAGES:-./cblosc/... ./h5/... ./ndarray/...}"
go test -asan -timeout 20m "${packages[@]}" 2>&1 | tee "$log"
go run -asan ./scripts/hostile -only direct -mutants "${MUTANTS:-4000}" 2>&1 | tee -a "$log"
say "$(grep -c 'runtime error:' "$log" || true) reports of undefined behaviour"
