#!/usr/bin/env bash
# licences.sh SRC OUT
# Copies the licence of every unpacked library, and of the code bundled with it that we link, from
# SRC/<library> to OUT/<library>/.
set -euo pipefail
src=$1 out=$2

# take LIBRARY FILE ... copies files of the library; a missing one is an error.
take() {
    local file
    mkdir -p "$out/$1"
    for file in "${@:2}"; do
        cp "$src/$1/$file" "$out/$1/"
    done
}

take c-blosc2 LICENSE.txt LICENSES/BITSHUFFLE.txt LICENSES/FASTLZ.txt
opening() { sed '/\*\//q' "$src/$1"; } # the comment that a file begins with
opening c-blosc2/plugins/codecs/ndlz/xxhash.h >"$out/c-blosc2/XXHASH.txt"
take zfp LICENSE NOTICE
take hdf5 LICENSE
take lz4 lib/LICENSE
take zstd LICENSE
take zlib LICENSE
take libdeflate COPYING
take bzip2 LICENSE
[[ ! -d $src/libaec ]] || take libaec LICENSE.txt
