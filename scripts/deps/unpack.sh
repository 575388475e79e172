#!/usr/bin/env bash
# unpack.sh CACHE DEST [LIBRARY ...]
# Unpacks the pinned libraries, except the named ones, from CACHE, each into DEST/<library>.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/pins.sh"

without=("${@:3}")

# unpack_one ARCHIVE DIRECTORY DEST unpacks one directory of a tarball, named without the tarball's top
# directory; "." is all of it.
unpack_one() {
    local strip=1 member=()
    if [[ $2 != . ]]; then
        strip=$((2 + $(tr -cd / <<<"$2" | wc -c)))
        member=(--wildcards --no-wildcards-match-slash --anchored "*/$2")
    fi
    tar --extract --no-same-owner --strip-components="$strip" --directory "$3" --file "$1" "${member[@]}"
}

while read -r library _ _ _ path directory; do
    target=$2/$library
    mkdir -p "$target" || die "cannot create $target"
    if ! log=$(unpack_one "$1/$(basename "$path")" "$directory" "$target" 2>&1); then
        die "cannot unpack $(basename "$path"): $(grep -m 1 -i 'no space' <<<"$log" || head -n 1 <<<"$log")"
    fi
done < <(pins)
