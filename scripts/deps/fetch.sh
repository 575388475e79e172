#!/usr/bin/env bash
# fetch.sh CACHE [LIBRARY ...]
# Brings the pinned files, except those of the named libraries, into the directory CACHE. A file that is
# there already, put by hand or by an earlier run, is verified and kept; a file with another hash is an
# error. A missing file is fetched by the client of its kind (third_party/VERSIONS): apt, pip or cargo,
# as this machine has configured it. No index of apt is refreshed. pip and cargo may fail after the
# download, for example because an old cargo cannot read a newer manifest, so the file counts and not
# the exit status.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/pins.sh"

cache=$1 without=("${@:2}")
mkdir -p "$cache" || die "cannot create $cache"
by_hand="put it into $cache by hand and run this again"
work='' archive=''
trap '[[ -z $work ]] || rm -rf "$work"' EXIT

# reason LOG prints the line of a client's output that names the problem.
reason() {
    local line
    line=$(grep -m 1 -E '^(E:|ERROR:|error)' <<<"$1" || tail -n 1 <<<"$1")
    line=${line#E: } && line=${line#ERROR: }
    printf '%s\n' "${line#error: }"
}

# from_debian PATH SHA256 TARGET downloads a file of Debian's pool.
from_debian() {
    local helper=/usr/lib/apt/apt-helper
    [[ -x $helper ]] || die "${1##*/} is not there and this machine has no apt; $by_hand"
    archive=${archive:-$(mirror)}
    [[ $archive ]] || die "no Debian archive in apt's configuration; set DEBIAN_MIRROR, or for ${1##*/}: $by_hand"
    say "fetching ${1##*/}"
    log=$("$helper" -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 \
        download-file "$archive/$1" "$3" "SHA256:$2" 2>&1) || rm -f "$3"
}

# from_python FILE SHA256 TARGET downloads a source distribution. pip also runs the package's metadata step.
from_python() {
    local name=${1%.tar.gz}
    or_by_hand="for $1: $by_hand" need pip3:python3-pip
    say "fetching $1"
    log=$(PIP_DISABLE_PIP_VERSION_CHECK=1 pip3 download --quiet --no-deps --no-binary "${name%-*}" \
        --dest "$work" "${name%-*}==${name##*-}" 2>&1) || true
    [[ ! -e $work/$1 ]] || mv -- "$work/$1" "$3"
}

# from_rust FILE SHA256 TARGET lets cargo resolve a package that needs the crate, and takes the file from
# cargo's own cache. Before 1.70 cargo reads a whole index through git unless it is told not to.
from_rust() {
    local name=${1%.crate} found cargo=(cargo)
    or_by_hand="for $1: $by_hand" need cargo:cargo
    if (($(cargo --version | sed -E 's/^cargo 1\.([0-9]+).*/\1/') < 70)); then
        export RUSTC_BOOTSTRAP=1
        cargo+=(-Z sparse-registry)
    fi
    mkdir -p "$work/package/src"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\n%s = "=%s"\n' \
        "${name%-*}" "${name##*-}" >"$work/package/Cargo.toml"
    : >"$work/package/src/lib.rs"
    rm -f "$work/package/Cargo.lock"
    say "fetching $1"
    log=$(cd "$work/package" && "${cargo[@]}" fetch --quiet 2>&1) || true
    found=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/cache" -name "$1" -print -quit 2>/dev/null || true)
    [[ -z $found ]] || cp -- "$found" "$3"
}

while read -r kind sha path; do
    file=$cache/$(basename "$path")
    if [[ -e $file ]]; then
        verify "$file" "$sha" ||
            die "$file: wrong sha256 $got, want $sha; remove the file and run this again"
        continue
    fi
    work=${work:-$(mktemp -d)}
    part=$file.part
    rm -f "$part"
    "from_$kind" "$path" "$sha" "$part"
    [[ -e $part ]] || die "cannot fetch ${file##*/}: $(reason "$log"); check the network, or $by_hand"
    verify "$part" "$sha" || { rm -f "$part"; die "${file##*/}: fetched with wrong sha256 $got, want $sha"; }
    mv -- "$part" "$file"
done < <(files)
