#!/usr/bin/env bash
# unpack.sh CACHE DEST ARCH
# Unpacks the pinned files of one architecture from CACHE, each into DEST/<library>.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/pins.sh"

# unpack_one FILE FOLDER: a tarball, without its top folder, or the content of a Debian package.
unpack_one() {
    case $1 in
    *.deb) ar p "$1" data.tar.xz | tar --extract --xz --no-same-owner --directory "$2" ;;
    *) tar --extract --no-same-owner --strip-components=1 --directory "$2" --file "$1" ;;
    esac
}

while read -r library _ _ _ path; do
    folder=$2/$library
    mkdir -p "$folder" || die "cannot create $folder"
    if ! log=$(unpack_one "$1/$(basename "$path")" "$folder" 2>&1); then
        die "cannot unpack $(basename "$path"): $(grep -m 1 -i 'no space' <<<"$log" || head -n 1 <<<"$log")"
    fi
done < <(pins "$3")
