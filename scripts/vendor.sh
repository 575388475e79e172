#!/usr/bin/env bash
# vendor.sh
# Unpacks the verified sources of every pinned library under third_party/src/<library>, for reading
# and debugging, and for tests that read the libraries' own test files (c-blosc2 and hdf5-tools).
# The build does not use that directory. A second run with the same VERSIONS does nothing.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/deps/pins.sh"
need tar:tar xz:xz-utils

cache=${DEPS_CACHE:-$root/third_party/cache}
src=$root/third_party/src
want=$(sha256sum <"$root/third_party/VERSIONS")
[[ $(cat "$src/.versions" 2>/dev/null) != "$want" ]] || exit 0
"$here/deps/fetch.sh" "$cache"
rm -rf "$src.new"
trap 'rm -rf "$src.new"' EXIT
"$here/deps/unpack.sh" "$cache" "$src.new"
printf '%s\n' "$want" >"$src.new/.versions"
rm -rf "$src"
mv -T "$src.new" "$src"
say "unpacked: $src"
