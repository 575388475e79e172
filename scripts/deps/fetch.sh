#!/usr/bin/env bash
# fetch.sh CACHE ARCH
# Brings the pinned files, sources and the packages of one architecture or of "all", into the folder
# CACHE, through the machine's own apt configuration: its mirror, proxy and credentials. A file that
# is there already, put by hand or by an earlier run, is verified and kept; a file with another hash
# is an error. No index is refreshed and nothing outside CACHE is written.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/pins.sh"

cache=$1
mkdir -p "$cache" || die "cannot create $cache"
helper=/usr/lib/apt/apt-helper
by_hand="put it into $cache by hand and run this again"
archive=

while read -r library version _ sha path; do
    file=$cache/$(basename "$path")
    if [[ -e $file ]]; then
        verify "$file" "$sha" ||
            die "$file: wrong sha256 $got, want $sha; remove the file and run this again"
        continue
    fi
    [[ -x $helper ]] || die "${file##*/} ($library $version) is not there and this machine has no apt; $by_hand"
    archive=${archive:-$(mirror)}
    [[ $archive ]] || die "no Debian archive in apt's configuration; set DEBIAN_MIRROR, or for ${file##*/}: $by_hand"
    say "fetching ${file##*/}"
    part=$file.part
    rm -f "$part"
    if ! log=$("$helper" -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 \
        download-file "$archive/$path" "$part" "SHA256:$sha" 2>&1); then
        rm -f "$part"
        reason=$(grep -m 1 '^E:' <<<"$log" || tail -n 1 <<<"$log")
        die "cannot fetch ${file##*/} ($library $version): ${reason#E: }; check the network, or $by_hand"
    fi
    verify "$part" "$sha" || { rm -f "$part"; die "${file##*/}: fetched with wrong sha256 $got, want $sha"; }
    mv -- "$part" "$file"
done < <(pins "$2")
