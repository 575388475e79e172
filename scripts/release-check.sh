#!/usr/bin/env bash
# release-check.sh VERSION [SUITE ...]
# Proves in minimal Debian systems (default: bookworm trixie), which hold only Go, gcc and the headers of
# the C library, that a module can use the release of `make release`: scripts/release/inside.sh lists the
# steps. The modules that Hyperslab requires come from this machine's module cache, and no step has a
# network. It prints a table of times. Logs: .fresh/check-<suite>.log
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
base=$root/.fresh/check
# shellcheck source=scripts/roots.sh
. "$here/roots.sh"

version=${1:-}
suites=("${@:2}")
((${#suites[@]})) || suites=(bookworm trixie)
out=$root/dist/$version
[[ $version && -e $out/SHA256SUMS ]] || die "no release '$version' in dist; run: make release VERSION=v0.1.0"
(cd "$out" && sha256sum --quiet --check SHA256SUMS) || die "$out: a file has another hash than SHA256SUMS"

# Everything that the modules of the steps require.
modules=$root/dist/.work/check-modules
rm -rf "$modules"
(
    # Go's index of a module is cached by its path, also if a release is made again; goindex=0: no index.
    export GODEBUG=goindex=0 GOMODCACHE=$modules GONOSUMDB='*' GOFLAGS=-modcacherw
    GOPROXY=file://$out/proxy,file://$(GOMODCACHE='' go env GOMODCACHE)/cache/download,$(go env GOPROXY)
    export GOPROXY
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp "$here"/release/beside/* "$work/"
    cd "$work"
    go mod edit -require "github.com/hyperslab/hyperslab@$version"
    go mod tidy
    go mod download github.com/hyperslab/hyperslab
    cd "$modules/github.com/hyperslab/hyperslab@$version" && go mod download
)
rm -rf "$modules/cache/download/github.com/hyperslab"

# system SUITE makes the system and copies the release and the modules into it.
system() {
    local directory=$base/$1
    bare "$1" gcc libc6-dev &&
        mkdir -p "$directory/src" &&
        cp -R "$out/proxy" "$directory/src/proxy" &&
        cp -R --reflink=auto "$modules/cache/download" "$directory/src/modules" &&
        cp -R "$here/release/beside" "$directory/src/" &&
        cp "$here/release/inside.sh" "$root/README.md" "$root/testdata/etopo120.h5" "$directory/src/" &&
        git clone --quiet --bare --no-local "$root" "$directory/src/repository.git"
}

failed=()
for suite in "${suites[@]}"; do
    log=$root/.fresh/check-$suite.log
    say "$suite: log in $log"
    {
        system "$suite" &&
            inside "$suite" unshare --net bash inside.sh "$version" minimal &&
            chroot "$base/$suite" apt-get install --yes --no-install-recommends git ca-certificates clang musl-tools libhdf5-dev &&
            inside "$suite" unshare --net bash inside.sh "$version" more
    } >"$log" 2>&1 || failed+=("$suite")
    sed -n "s/^step: /$suite: /p" "$log"
done
((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
