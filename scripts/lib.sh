# shellcheck shell=bash
# lib.sh: sourced by the other scripts. Defines paths and messages, and installs the Debian packages
# that the scripts need.
# shellcheck disable=SC2034 # root is for the scripts that source this

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
self=$(basename "$0" .sh)

say() { printf '%s: %s\n' "$self" "$*"; }
die() { printf '%s: %s\n' "$self" "$*" >&2; exit 1; }

# platform MACHINE prints the <goos>_<goarch> of a compiler's target, for example x86_64-linux-gnu.
platform() {
    local arch os
    case $1 in
        x86_64*) arch=amd64 ;;
        aarch64* | arm64*) arch=arm64 ;;
        *) arch=${1%%-*} ;;
    esac
    case $1 in
        *mingw*) os=windows ;;
        *darwin* | *macos*) os=darwin ;;
        *) os=linux ;;
    esac
    printf '%s_%s\n' "$os" "$arch"
}

# library_dir prints the directory with the archives and headers of Go's platform.
library_dir() { printf '%s/third_party/lib/%s_%s\n' "$root" "$(go env GOOS)" "$(go env GOARCH)"; }

# mirror prints the Debian archive that this machine's apt uses: from apt's lists or, if they are
# empty, from the URIs that apt would fetch. DEBIAN_MIRROR overrides both. No host is hard-coded.
mirror() {
    if [[ -n ${DEBIAN_MIRROR:-} ]]; then
        printf '%s\n' "$DEBIAN_MIRROR"
        return
    fi
    command -v apt-get >/dev/null || return 0
    {
        # shellcheck disable=SC2016 # $(SITE) is apt's, not the shell's
        apt-get indextargets --format '$(SITE) $(COMPONENT) $(RELEASE)' 2>/dev/null || true
        apt-get update --print-uris 2>/dev/null |
            sed -nE "s#^'(.*)/dists/([^/]+)/InRelease'.*#\1 main \2#p" || true
    } | awk '$2 == "main" && $3 !~ /security/ && !n++ { print $1 }'
}

# need FILE:PACKAGE ... makes sure that each FILE (a command, or an absolute path) exists. If the
# script runs as root, it installs the Debian packages of missing files. Otherwise, and with
# AUTO_INSTALL=0, it fails. The error contains the command to run, followed by $or_by_hand if the
# caller has an alternative.
need() {
    local pair missing=() packages=()
    for pair; do
        if [[ $pair == /* ]]; then
            [[ -e ${pair%:*} ]] && continue
        else
            command -v "${pair%:*}" >/dev/null && continue
        fi
        missing+=("${pair%:*}")
        packages+=("${pair##*:}")
    done
    ((${#missing[@]})) || return 0
    command -v apt-get >/dev/null ||
        die "missing: ${missing[*]} (Debian packages: ${packages[*]}); install them and run this again${or_by_hand:+; or $or_by_hand}"
    if ((EUID != 0)) || [[ ${AUTO_INSTALL:-1} == 0 ]]; then
        die "missing: ${missing[*]}; run: sudo apt-get install --no-install-recommends ${packages[*]}${or_by_hand:+; or $or_by_hand}"
    fi
    say "installing ${packages[*]}"
    install_packages "${packages[@]}"
}

# install_packages PACKAGE ... refreshes apt's lists only if they do not contain a package yet.
install_packages() {
    local log
    export DEBIAN_FRONTEND=noninteractive
    if ! apt-get install --simulate --no-install-recommends "$@" >/dev/null 2>&1; then
        log=$(apt-get update 2>&1) || die "apt-get update failed: $(tail -n 1 <<<"$log")"
    fi
    log=$(apt-get install --yes --no-install-recommends "$@" 2>&1) ||
        die "apt-get install $* failed: $(grep -m 1 '^E:' <<<"$log" || tail -n 1 <<<"$log")"
}

# temporary_directory exports TMPDIR, a new directory that is removed when the script ends. It is in
# memory if /dev/shm has 4 GiB free, because the tests sync thousands of small files. An existing
# TMPDIR is kept.
temporary_directory() {
    [[ -z ${TMPDIR:-} ]] || return 0
    if [[ -w /dev/shm ]] && (($(df --output=avail --block-size=1M /dev/shm | tail -n 1) >= 4096)); then
        TMPDIR=$(mktemp -d /dev/shm/hyperslab.XXXXXX)
    else
        TMPDIR=$(mktemp -d)
    fi
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
}
