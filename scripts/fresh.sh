#!/usr/bin/env bash
# fresh.sh [SUITE ...] [-- TARGET ...]
# Proves that a bare Debian needs only Go and make. For each suite (default: bookworm trixie) it
# makes a minimal system with debootstrap in .fresh/<suite>, adds a clean clone of HEAD, this
# machine's Go toolchain and make, and runs `make TARGET` there (default: demo, then test). At the
# end it prints a table of times. It must run as root. The system gets the settings of this machine
# for the sources of packages: apt's archive and settings, name resolution, certificates and proxy
# variables, and the settings of Go, pip and cargo. It does not get packages or build results. Logs:
# .fresh/<suite>.log
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS # of a make that called us

suites=() targets=()
while (($#)); do
    [[ $1 == -- ]] && { shift; targets=("$@"); break; }
    suites+=("$1")
    shift
done
((${#suites[@]})) || suites=(bookworm trixie)
((${#targets[@]})) || targets=(demo test)

base=$root/.fresh
# shellcheck source=scripts/roots.sh
. "$here/roots.sh"

# source_in SUITE makes the minimal system with make and a clean clone of HEAD in it.
source_in() { bare "$1" make && git clone --no-hardlinks "$root" "$base/$1/src"; }

# timed NAME COMMAND ... runs a command with its output in the log, and records its result and its
# time.
table=()
timed() {
    local start=$SECONDS result=ok
    say "$suite: $1"
    "${@:2}" >>"$log" 2>&1 || result=FAILED
    table+=("$(printf '%-10s %-16s %6d s  %s' "$suite" "$1" $((SECONDS - start)) "$result")")
    [[ $result == ok ]]
}

failed=0
for suite in "${suites[@]}"; do
    log=$base/$suite.log
    : >"$log"
    timed "bare system" source_in "$suite" || { failed=1; continue; }
    for target in "${targets[@]}"; do
        timed "make $target" inside "$suite" make "$target" || { failed=1; break; }
    done
done
printf '%s\n' "${table[@]}"
((failed == 0)) || die "failed; the logs: $base/<suite>.log"
