#!/usr/bin/env bash
# sanitize.sh deps|lane|test
# deps builds the C libraries with AddressSanitizer, UndefinedBehaviorSanitizer and their assertions
# into third_party/sanitized/build. test also runs the tests of every package that depends on C with
# these libraries, and the hostile files (`make hostile`, in the mode with the C code in one
# process). lane does the same with fewer packages, files and random inputs. Environment:
#
#   PACKAGES=./cblosc/...     packages to test instead of all that depend on C
#   MUTANTS=4000  EVERY=1     for hostile: number of mutants, and the step through its most frequent cases
#
# A report of AddressSanitizer ends its process and fails the lane. So does undefined behaviour that
# scripts/sanitize/known.txt does not list.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

prefix=$root/third_party/sanitized/build
mkdir -p "${prefix%/*}"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# Both runtimes read the same options, and the one that starts last decides. Leaks are counted by
# the tests themselves (package internal/testkit/leak).
options=detect_leaks=0:allocator_may_return_null=1:print_stacktrace=1
export ASAN_OPTIONS=$options UBSAN_OPTIONS=$options
# Without -DNDEBUG, so that assertions are compiled and reported (sanitize/include/assert.h). Line
# numbers make reports useful. The recipe of the archives contains the flags, and therefore the hash
# of the compiler wrapper.
wrapper=$(cat "$here/sanitize/cc" "$here/sanitize/include/assert.h" | sha256sum | cut -c 1-16)
CC=$here/sanitize/cc DEPS_PREFIX=$prefix DEPS_CACHE=${DEPS_CACHE:-$root/third_party/cache} DEPS_NEED_MB=1500 \
    DEPS_TOOLS=0 DEPS_CFLAGS="-O1 -g1 -fPIC -DHYPERSLAB_WRAPPER=x$wrapper" "$here/deps.sh"
for library in goblosc2 gohdf5; do
    for name in __asan_report_load1 __ubsan_handle_add_overflow; do
        # (without -q, because grep -q would end nm early)
        nm "$prefix/lib/lib$library.a" | grep " U $name" >/dev/null || die "lib$library.a was built without $name"
    done
    grep -qa "'assertion " "$prefix/lib/lib$library.a" || die "lib$library.a was built without assertions"
done
[[ $1 == deps ]] && exit 0

# The directives of the packages name third_party/lib, and the first path wins. Go's build cache
# does not detect new archives, so a flag contains the recipe.
recipe=$(<"$prefix/recipe")
export CGO_ENABLED=1 CC=$here/sanitize/cc
export CGO_CFLAGS="-O1 -g1 -I$prefix/lib -DHYPERSLAB_SANITIZED=x$recipe" CGO_LDFLAGS="-L$prefix/lib"

# reach_c prints the packages with tests that depend on C. internal/sandbox/worker calls neither library,
# and its limit of the address space has no effect in a program for which AddressSanitizer has
# mapped 20 TiB. The lane leaves out packages that run the same code in many processes.
reach_c() {
    local without='/internal/sandbox/worker$'
    [[ $1 != lane ]] || without='/(internal/sandbox/worker|scripts/crashtest|internal/cli|crosscheck)$'
    go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... |
        awk '$1 ~ /\.test$/ && / [^ ]*\/internal\/cmem( |$)/ { sub(/\.test$/, "", $1); print $1 }' |
        grep -vE "$without"
}

# The probe has a memory error, undefined behaviour and a failed assertion, to check that they are
# found.
log() { export ASAN_OPTIONS=$options:log_path=$logs/$1/log UBSAN_OPTIONS=$options:log_path=$logs/$1/log; }
mkdir "$logs/probed" "$logs/said"
go build -o "$logs/judge" ./scripts/sanitize
(cd "$here/sanitize/probe" && "$CC" -g1 -o "$logs/probe" probe.c)
log probed
! "$logs/probe" || die "the probe lived through its fault of memory"
said=$("$logs/judge" -known "$here/sanitize/probe/known.txt" "$logs/probed") && die "the probe's fault of memory was not reported"
[[ $said == *'2 kinds of undefined behaviour and failed assertions in 2 reports'*'1 faults of memory' && $said != *'not in the list'* ]] || die "the probe: $said"

log said
if [[ $1 == lane ]]; then
    export RAPID_CHECKS=${RAPID_CHECKS:-20} MUTANTS=${MUTANTS:-1000} EVERY=${EVERY:-8}
fi
if [[ -n ${PACKAGES:-} ]]; then
    read -ra packages <<<"$PACKAGES"
else
    mapfile -t packages < <(reach_c "$1")
fi
good=1
say "the tests of ${#packages[@]} packages"
go test -asan -timeout 30m "${packages[@]}" || good=0
say "the hostile files"
go run -asan ./scripts/hostile -only direct -mutants "${MUTANTS:-4000}" -every "${EVERY:-1}" || good=0
"$logs/judge" "$logs/said" || good=0
((good)) || die "failed"
