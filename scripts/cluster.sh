#!/usr/bin/env bash
# cluster.sh
# Tests plans completely: killed workers, a full disk and failed requests for each kind of target,
# and the time of eight workers with a slow store. Tests the runner on Apache Beam, a module of its
# own, on Prism, and runs it in a root that contains only the files of Beam's image. Validates the
# templates of docs/cluster: the Kubernetes jobs against their schema, in a Python environment in
# .nightly, and the script for Slurm with shellcheck.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
need shellcheck:shellcheck
shellcheck docs/cluster/slurm.sh
mkdir -p .nightly
[[ -x .nightly/cluster/bin/kubernetes-validate ]] || {
    python3 -m venv .nightly/cluster
    .nightly/cluster/bin/pip install -q kubernetes-validate==1.37.0
}
.nightly/cluster/bin/kubernetes-validate --strict docs/cluster/job.yaml
HYPERSLAB_ALL=1 go test -count=1 -timeout 30m ./plan
HYPERSLAB_ALL=1 go test -count=1 -run '^$' -bench latency -benchtime 1x ./plan
go -C beam vet ./...
go -C beam test ./...

# image runs a plan in a root with the files of the distroless image of Beam's Go SDK: the C library
# of Debian 12 and a user, without a shell and without other libraries.
image() {
    ((EUID == 0)) || die "chroot needs root; run: sudo make nightly LANES=cluster"
    local image library newest
    image=$(mktemp -d)
    # shellcheck disable=SC2064 # the name of now
    trap "rm -rf '$image'" EXIT
    mkdir -p "$image"/{data,etc,root,tmp}
    go build -o "$image/hyperslab" ./cmd/hyperslab
    go -C beam build -o "$image/hyperslab-beam" .
    for library in $(ldd "$image/hyperslab" "$image/hyperslab-beam" | grep -o '/[^ :]*\.so[.0-9]*' | sort -u); do
        case ${library##*/} in
        libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | libresolv.so.2 | ld-linux-*.so.*) ;;
        *) die "library that Beam's image lacks: $library" ;;
        esac
        install -D -m 755 "$library" "$image$library"
    done
    newest=$(readelf -V "$image/hyperslab-beam" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    [[ $(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -n 1) == GLIBC_2.36 ]] ||
        die "symbol versions of the C library: got $newest, want at most GLIBC_2.36 of Debian 12"
    echo 'root:x:0:0:root:/root:/sbin/nologin' >"$image/etc/passwd"
    echo '127.0.0.1 localhost' >"$image/etc/hosts"
    echo 'hosts: files dns' >"$image/etc/nsswitch.conf"
    cp testdata/etopo120.h5 "$image/data/"
    inside() { env -i HOME=/root "$(command -v chroot)" "$image" "$@"; }
    inside /hyperslab plan convert /data/etopo120.h5:/ROSE /data/rose.b2nd --chunks 10,30 --shard-bytes 8KiB \
        --exclude-unsupported -o /data/plan.json
    inside /hyperslab-beam --plan /data/plan.json --runner prism
    inside /hyperslab diff /data/etopo120.h5:/ROSE /data/rose.b2nd --values-only
}
(image)
say "the plans, the Beam pipeline and the templates are valid"
