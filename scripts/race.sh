#!/usr/bin/env bash
# race.sh [all]
# Runs tests with the race detector, cgo's pointer checks and leak reports (-tags invariants),
# either of all packages or of those that contain concurrency. A package contains concurrency if it,
# or one of its tests, starts goroutines or imports package sync. Without "all", the programs for
# maintainers, the crash tests and crosscheck are left to make nightly, because they take minutes
# and most of their work is in other processes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

packages=(./...)
if [[ ${1:-} != all ]]; then
    packages=()
    while read -r package dir; do
        if grep -qE '^[[:space:]]*(go (func|[a-z][A-Za-z.]*)\(|"sync"|"sync/atomic"|"golang.org/x/sync/)' "$dir"/*.go; then
            packages+=("$package")
        fi
    done < <(go list -f '{{.ImportPath}} {{.Dir}}' ./... | grep -vE '/(scripts|internal/lint|crosscheck)(/| )')
    ((${#packages[@]})) || die "no package with concurrency found"
fi
export GOEXPERIMENT=cgocheck2 RAPID_CHECKS=${RAPID_CHECKS:-10} TEST_FLAGS="-timeout 20m -race -tags invariants"
"$here/test.sh" "${packages[@]}"
