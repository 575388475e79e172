# shellcheck shell=bash
# roots.sh: sourced after lib.sh. Makes minimal Debian systems with debootstrap and runs commands in
# them. The callers set base, the directory of the systems.
# shellcheck disable=SC2154 # root and base

((EUID == 0)) || die "debootstrap and chroot need root; run: sudo make $self"
need debootstrap:debootstrap git:git unshare:util-linux
archive=$(mirror)
[[ $archive ]] || die "no Debian archive in apt's configuration; set DEBIAN_MIRROR"
goroot=$(go env GOROOT)
unset TMPDIR # the systems do not have that directory
mkdir -p "$base/cache"

# bare SUITE PACKAGE ... makes the minimal system with these packages and Go in it. (It is one && chain,
# because errexit is off in a function whose result is tested.)
bare() {
    local directory=$base/$1
    rm -rf "$directory" && # no mounts to cross: they live in a namespace that ended with its run
        debootstrap --variant=minbase --cache-dir="$base/cache" "$1" "$directory" "$archive" &&
        printf 'deb %s %s main\n' "$archive" "$1" >"$directory/etc/apt/sources.list" &&
        apt-config dump Acquire >"$directory/etc/apt/apt.conf.d/90host" &&
        cp -R /etc/apt/auth.conf.d "$directory/etc/apt/" &&
        chroot "$directory" apt-get update &&
        chroot "$directory" apt-get install --yes --no-install-recommends "${@:2}" &&
        cp -RL --reflink=auto "$goroot" "$directory/usr/local/go"
}

# certificates prints this machine's bundle of certificate authorities, including those of a proxy.
certificates() {
    local file
    for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt; do
        [[ -s $file ]] && { cat "$file"; return; }
    done
}

# inside SUITE COMMAND ... runs a command in the system's /src. Its mounts are in a separate mount
# namespace, so that they end with the command in any case. The system is the root of that namespace,
# because the kernel does not create user namespaces after chroot.
inside() {
    local directory=$base/$1 name environment=(
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
    if certificates >"$directory/root/certificates.crt" && [[ -s $directory/root/certificates.crt ]]; then
        environment+=({SSL_CERT_FILE,PIP_CERT,CARGO_HTTP_CAINFO}"=/root/certificates.crt")
    fi
    mkdir -p "$directory/root/.cargo"
    for name in "${PIP_CONFIG_FILE:-}:/etc/pip.conf" "${CARGO_HOME:-$HOME/.cargo}/config.toml:/root/.cargo/config.toml"; do
        [[ ! -s ${name%:*} ]] || cp -L "${name%:*}" "$directory${name##*:}"
    done
    for name in /etc/resolv.conf /etc/hosts; do
        [[ ! -e $name ]] || cp -L "$name" "$directory$name"
    done
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --propagation private bash -euc '
        directory=$1; shift
        mount --bind "$directory" "$directory"
        mount -t proc proc "$directory/proc"
        mount -t tmpfs tmpfs "$directory/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=666 devpts "$directory/dev/pts"
        cd "$directory"
        pivot_root . .
        umount --lazy .
        exec /usr/bin/env --ignore-environment --chdir=/src "$@"
    ' inside "$directory" "${environment[@]}" "${@:2}"
}
