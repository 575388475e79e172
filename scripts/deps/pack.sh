#!/usr/bin/env bash
# pack.sh STAGE OUT
# Makes the three archives under OUT/lib from the libraries under STAGE. Each is one relocatable
# object, so that nothing of it can clash with another library of the process:
#
#   libgoblosc2.a  C-Blosc2 with its codecs; global are only the names in C-Blosc2's public headers
#   libgohdf5.a    HDF5 with its high-level library and codecs; global are only its headers' names
#   libgocodec.a   codecs for our own use; every global name begins with hsc_ (header: gocodec/gocodec.h)
#
# Objects of macOS cannot be merged here, and objcopy cannot make their names local. An archive for macOS
# has many objects, and the names that would be local begin with local_ and the archive's name.
#
# Installs the headers there too. Environment: AR, LD, NM, OBJCOPY, TARGET.
set -euo pipefail
stage=$1 out=$2
work=$stage/pack
mkdir -p "$work" "$out/lib/gocodec"

mark='' # the character before each name of C in a symbol
[[ $TARGET != *macos* ]] || mark=_

# merge OBJECT LIBRARY ... links every member of the libraries that are there into one object, or, for
# macOS, copies them into one archive.
merge() {
    local object=$1 library libraries=()
    for library in "${@:2}"; do
        [[ -e $stage/lib/lib$library.a ]] && libraries+=("$stage/lib/lib$library.a")
    done
    if [[ $TARGET == *macos* ]]; then
        printf '%s\n' "create $object" "${libraries[@]/#/addlib }" save end | "$AR" -M
    else
        "$LD" -r -o "$object" --whole-archive "${libraries[@]}"
    fi
}

# globals OBJECT prints the names that it defines for others.
globals() { "$NM" -g --defined-only "$1" | awk -v mark="$mark" 'NF == 3 { print substr($3, length(mark) + 1) }' | sort -u; }

# prefix NAMES PREFIX OBJECT OUT changes the names, one in each line of a file, so that they begin with PREFIX.
prefix() {
    awk -v mark="$mark" -v prefix="$2" '{ print mark $1, mark prefix $1 }' "$1" >"$1.changed"
    "$OBJCOPY" --redefine-syms="$1.changed" "$3" "$4"
}

# words PATTERN HEADER ... prints the names in the headers that match.
words() { cat "${@:2}" | grep -oE '\b[A-Za-z_][A-Za-z0-9_]*' | grep -E "$1" | sort -u; }

# archive NAME OBJECT makes OUT/lib/libNAME.a, the same bytes on every run.
archive() {
    if [[ $TARGET == *macos* ]]; then
        cp "$2" "$out/lib/lib$1.a"
    else
        "$AR" rcsD "$out/lib/lib$1.a" "$2"
    fi
}

# reference NAME PATTERN LIBRARY ... packs a reference library. The names that its public headers
# (on standard input) hold and that match PATTERN stay global.
reference() {
    local object=$work/$1.o headers
    mapfile -t headers
    merge "$work/$1.all.o" "${@:3}"
    globals "$work/$1.all.o" >"$work/$1.names"
    comm -12 "$work/$1.names" <(words "$2" "${headers[@]}") >"$work/$1.keep"
    if [[ $TARGET == *macos* ]]; then
        comm -23 "$work/$1.names" "$work/$1.keep" >"$work/$1.local"
        prefix "$work/$1.local" "local_$1_" "$work/$1.all.o" "$object"
    else
        "$OBJCOPY" --keep-global-symbols="$work/$1.keep" "$work/$1.all.o" "$object"
    fi
    archive "$1" "$object"
}

cd "$stage/include"
cp -R blosc2.h b2nd.h blosc2 hdf5.h hdf5_hl.h H5*.h "$out/lib"
printf '%s\n' blosc2.h b2nd.h blosc2/*.h | reference goblosc2 '^(blosc1?_|blosc2_|b2nd_)' blosc2 lz4 zstd z
printf '%s\n' hdf5.h hdf5_hl.h H5*.h | reference gohdf5 '^H5' hdf5 hdf5_hl sz z

# The codecs. Every name is changed, also those that only the libraries themselves use; the header
# changes back those that a caller can meet.
codec_headers=(libdeflate.h lz4.h lz4hc.h lz4frame.h zstd_errors.h zstd.h zlib.h bzlib.h)
[[ -e libaec.h ]] && codec_headers+=(libaec.h szlib.h)
merge "$work/gocodec.all.o" deflate lz4 zstd z bz2 sz # libsz.a contains libaec.a
globals "$work/gocodec.all.o" >"$work/gocodec.names"
prefix "$work/gocodec.names" hsc_ "$work/gocodec.all.o" "$work/gocodec.o"
archive gocodec "$work/gocodec.o"
cp "${codec_headers[@]}" zconf.h "$out/lib/gocodec"
[[ ! -e szlib.h ]] || sed 's/<libaec.h>/"libaec.h"/' szlib.h >"$out/lib/gocodec/szlib.h" # its neighbour
{
    cat <<'EOF'
/* gocodec.h: the codecs of libgocodec.a by their usual names. Generated; include this header and not
 * the libraries' own. In the archive each name begins with hsc_, so that these codecs and others in
 * the same process never meet. */
#ifndef HYPERSLAB_GOCODEC_H
#define HYPERSLAB_GOCODEC_H

EOF
    comm -12 "$work/gocodec.names" <(words . "${codec_headers[@]}") | sed 's/.*/#define & hsc_&/'
    echo
    printf '#include "%s"\n' "${codec_headers[@]}"
    printf '\n#endif\n'
} >"$out/lib/gocodec/gocodec.h"

# Another binding of HDF5 in the same process asks for -lhdf5 and -lhdf5_hl: here it gets ours. macOS has
# no such scripts for its linker.
[[ $TARGET != *macos* ]] || exit 0
mkdir "$out/lib/gonum"
echo 'INPUT(-lgohdf5)' | tee "$out/lib/gonum/libhdf5.a" >"$out/lib/gonum/libhdf5_hl.a"
