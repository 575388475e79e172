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

((EUID == 0)) || die "debootstrap and chroot need root; run: sudo make fresh"
need debootstrap:debootstrap git:git unshare:util-linux
archive=$(mirror)
[[ $archive ]] || die "no Debian archive in apt's configuration; set DEBIAN_MIRROR"
goroot=$(go env GOROOT)
base=$root/.fresh
mkdir -p "$base/cache"

# bare SUITE makes the minimal system with make and Go in it. (It is one && chain, because errexit
# is off in a function whose result is tested.)
bare() {
    local folder=$base/$1
    rm -rf "$folder" && # no mounts to cross: they live in a namespace that ended with its run
        debootstrap --variant=minbase --cache-dir="$base/cache" "$1" "$folder" "$archive" &&
        printf 'deb %s %s main\n' "$archive" "$1" >"$folder/etc/apt/sources.list" &&
        apt-config dump Acquire >"$folder/etc/apt/apt.conf.d/90host" &&
        cp -R /etc/apt/auth.conf.d "$folder/etc/apt/" &&
        chroot "$folder" apt-get update &&
        chroot "$folder" apt-get install --yes --no-install-recommends make &&
        cp -RL --reflink=auto "$goroot" "$folder/usr/local/go" &&
        git clone --no-hardlinks "$root" "$folder/src"
}

# certificates prints this machine's bundle of certificate authorities, including those of a proxy.
certificates() {
    local file
    for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt; do
        [[ -s $file ]] && { cat "$file"; return; }
    done
}

# inside SUITE COMMAND ... runs a command in the system's /src. Its mounts are in a separate mount
# namespace, so that they end with the command in any case.
inside() {
    local folder=$base/$1 name environment=(
        HOME=/root LANG=C.UTF-8
        PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        GOTOOLCHAIN=local GOMODCACHE=/root/go/pkg/mod GOCACHE=/root/.cache/go-build
    )
    for name in GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB GOINSECURE GOFLAGS; do
        environment+=("$name=$(go env "$name")")
    done
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL JOBS; do
        [[ -z ${!name:-} ]] || environment+=("$name=${!name}")
    done
    if certificates >"$folder/root/certificates.crt" && [[ -s $folder/root/certificates.crt ]]; then
        environment+=({SSL_CERT_FILE,PIP_CERT,CARGO_HTTP_CAINFO}"=/root/certificates.crt")
    fi
    mkdir -p "$folder/root/.cargo"
    for name in "${PIP_CONFIG_FILE:-}:/etc/pip.conf" "${CARGO_HOME:-$HOME/.cargo}/config.toml:/root/.cargo/config.toml"; do
        [[ ! -s ${name%:*} ]] || cp -L "${name%:*}" "$folder${name##*:}"
    done
    for name in /etc/resolv.conf /etc/hosts; do
        [[ ! -e $name ]] || cp -L "$name" "$folder$name"
    done
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --propagation private bash -euc '
        folder=$1; shift
        mount -t proc proc "$folder/proc"
        mount -t tmpfs tmpfs "$folder/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=666 devpts "$folder/dev/pts"
        exec chroot "$folder" env --ignore-environment --chdir=/src "$@"
    ' inside "$folder" "${environment[@]}" "${@:2}"
}

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
    timed "bare system" bare "$suite" || { failed=1; continue; }
    for target in "${targets[@]}"; do
        timed "make $target" inside "$suite" make "$target" || { failed=1; break; }
    done
done
printf '%s\n' "${table[@]}"
((failed == 0)) || die "failed; the logs: $base/<suite>.log"
