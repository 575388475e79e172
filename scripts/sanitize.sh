#!/usr/bin/env bash
# sanitize.sh deps|lane|test
# deps builds the C libraries with AddressSanitizer, UndefinedBehaviorSanitizer and their assertions
# into third_party/sanitized/build. test also runs on them the tests of every package that reaches C,
# and the hostile files (`make hostile`, in the mode that has the C code in one process); lane is the
# same with fewer packages, files and draws. Environment:
#
#   PACKAGES=./cblosc/...     what is tested in place of all that reach C
#   MUTANTS=4000  EVERY=1     of hostile: mutants, and which of the cases that are many are tried
#
# A report of AddressSanitizer ends the process that met it and fails the lane, and so does undefined
# behaviour that scripts/sanitize/known.txt does not list.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

prefix=$root/third_party/sanitized/build
mkdir -p "${prefix%/*}"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# Both runtimes read the same options; the one that starts last decides. Leaks are counted by the tests
# themselves (package internal/leak).
options=detect_leaks=0:allocator_may_return_null=1
export ASAN_OPTIONS=$options UBSAN_OPTIONS=$options
# No -DNDEBUG: assertions live, and are reported (sanitize/include/assert.h). Line numbers make a report worth
# reading. The recipe of the archives holds the flags, and so what the compiler's script is made of.
wrapper=$(cat "$here/sanitize/cc" "$here/sanitize/include/assert.h" | sha256sum | cut -c 1-16)
CC=$here/sanitize/cc DEPS_PREFIX=$prefix DEPS_CACHE=${DEPS_CACHE:-$root/third_party/cache} DEPS_NEED_MB=1500 \
    DEPS_TOOLS=0 DEPS_CFLAGS="-O1 -g1 -fPIC -DHYPERSLAB_WRAPPER=x$wrapper" "$here/deps.sh"
for library in goblosc2 gohdf5; do
    for name in __asan_report_load1 __ubsan_handle_add_overflow; do
        # (not grep -q: it would end nm before its end)
        nm "$prefix/lib/lib$library.a" | grep " U $name" >/dev/null || die "lib$library.a was built without $name"
    done
    grep -qa "'assertion " "$prefix/lib/lib$library.a" || die "lib$library.a was built without assertions"
done
[[ $1 == deps ]] && exit 0

# The directives of the packages name third_party/build; what comes first wins. Go's build cache does
# not look at the archives: the recipe does in their place.
recipe=$(<"$prefix/recipe")
export CGO_ENABLED=1 CC=$here/sanitize/cc
export CGO_CFLAGS="-O1 -g1 -I$prefix/include -DHYPERSLAB_SANITIZED=x$recipe" CGO_LDFLAGS="-L$prefix/lib"

# reach_c prints the packages with tests that reach C. internal/worker calls neither library, and a worker whose
# address space is bounded has no end in a program of which AddressSanitizer has mapped 20 TiB. The lane
# leaves out those that do the same in many processes.
reach_c() {
    local without='/internal/worker$'
    [[ $1 != lane ]] || without='/(internal/worker|internal/crashtest|internal/cli|crosscheck)$'
    go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... |
        awk '$1 ~ /\.test$/ && / [^ ]*\/internal\/cmem( |$)/ { sub(/\.test$/, "", $1); print $1 }' |
        grep -vE "$without"
}

# A fault of memory, undefined behaviour and a failed assertion, made on purpose: if they were not found, nothing would be.
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
