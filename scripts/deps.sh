#!/usr/bin/env bash
# deps.sh
# Fetches, verifies and builds the C libraries of third_party/VERSIONS, and installs headers, archives,
# HDF5's tools and licences under third_party/build. Nothing happens if that is up to date; otherwise
# everything is built in a directory beside it and renamed into place at the end, so that a failure
# leaves the installed state. Environment, with the defaults:
#
#   CC=gcc  JOBS=<processors>
#   DEPS_CFLAGS="-O3 -fPIC -DNDEBUG"        flags of every library
#   DEPS_PREFIX=third_party/build           where to install
#   DEPS_CACHE=third_party/cache            the fetched files; they may be put there by hand
#   DEPS_TOOLS=1                            0 leaves HDF5's tools out, and their source is not fetched
#   SZIP=1                                  0 leaves libaec out, and szip is absent
#   AUTO_INSTALL=1                          0 never installs Debian packages
#   DEBIAN_MIRROR=                          a Debian archive instead of the one in apt's configuration
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/deps/pins.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS # of a make that called us

prefix=${DEPS_PREFIX:-$root/third_party/build}
cache=${DEPS_CACHE:-$root/third_party/cache}
flags=${DEPS_CFLAGS:--O3 -fPIC -DNDEBUG}
need_mb=${DEPS_NEED_MB:-1000} # free space that a build takes at most
[[ $prefix == /* ]] || prefix=$PWD/$prefix
[[ $cache == /* ]] || cache=$PWD/$cache
export CC=${CC:-gcc}
JOBS=${JOBS:-$(nproc)}
export JOBS
DEPS_TOOLS=${DEPS_TOOLS:-1}
without=() # libraries
[[ ${SZIP:-1} != 0 ]] || without+=(libaec)
((DEPS_TOOLS)) || without+=(hdf5-tools)

# recipe prints a hash of all that decides the result.
recipe() {
    {
        cat "$versions" "$here/deps.sh" "$here"/deps/*
        printf '%s\n' "$CC" "$("$CC" --version 2>&1 | head -n 1)" "$flags" "${without[*]}" "$(uname -m)"
    } | sha256sum | cut -d ' ' -f 1
}

# up_to_date succeeds if what is installed was built by this recipe.
up_to_date() { [[ -e $prefix/recipe && $(<"$prefix/recipe") == "$(recipe)" ]]; }

# stamp_packages gives the cgo packages the stamp of the archives, which Go's build cache looks at.
stamp_packages() {
    [[ $prefix == "$root/third_party/build" ]] || return 0
    local package stamp
    for package in cblosc h5 h5/filter; do
        stamp=$root/$package/zz_stamp.h
        [[ -d $root/$package ]] || continue
        cmp -s "$prefix/include/zz_stamp.h" "$stamp" && continue
        install -m 644 "$prefix/include/zz_stamp.h" "$stamp" || die "cannot write $stamp"
    done
}

# step NAME COMMAND ... runs a command with its output in a log. If it fails, the error is the first
# line of the log that looks like one.
step() {
    local log=$work/$1.log start=$SECONDS reason free
    if "${@:2}" >"$log" 2>&1; then
        say "$1: $((SECONDS - start)) s"
        return
    fi
    free=$(free_mb "$work")
    if ((free < 16)); then
        die "$1 failed: no space left on the disk of $work"
    fi
    reason=$(grep -m 1 -iE 'no space left|file size limit|error|killed|not found|cannot' "$log" || tail -n 1 "$log")
    mv -f "$log" "$parent/work/failed.log"
    die "$1 failed: ${reason:-no message} (log: $parent/work/failed.log)"
}

free_mb() { df --output=avail --block-size=1M "$1" | tail -n 1 | tr -d ' '; }

need nproc:coreutils tar:tar flock:util-linux xz:xz-utils make:make cmake:cmake ld:binutils "$CC:${CC##*/}" \
    /usr/include/stdio.h:libc6-dev
if up_to_date; then
    stamp_packages
    say "up to date"
    exit 0
fi

# One build at a time; the second one finds that there is nothing left to do.
parent=$(dirname "$prefix")
mkdir -p "$parent/work" || die "cannot create $parent/work"
exec 9>"$parent/work/lock" || die "cannot write in $parent/work"
flock --nonblock 9 || { say "waiting for another build"; flock 9; }
if up_to_date; then
    stamp_packages
    say "up to date"
    exit 0
fi

work=$(mktemp -d "$parent/work/build.XXXXXX") || die "cannot create a folder in $parent/work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
free=$(free_mb "$work")
((free >= need_mb)) || die "not enough space: $free MB free on the disk of $parent, $need_mb MB needed"

began=$SECONDS
wanted=$(recipe)
"$here/deps/fetch.sh" "$cache" "${without[@]}"
"$here/deps/unpack.sh" "$cache" "$work/src" "${without[@]}"

# Paths of the work folder would make each build different, and show in HDF5's error messages.
export CFLAGS="$flags -ffile-prefix-map=$work/src/= -ffile-prefix-map=$work/obj/="
stage=$work/stage out=$work/out
mkdir -p "$stage/lib" "$stage/include" "$out"
for library in zlib lz4 zstd libdeflate bzip2 libaec c-blosc2 hdf5 hdf5-tools; do # in the order of need
    [[ -d $work/src/$library ]] || continue
    mkdir -p "$work/obj/$library"
    DEPS_LIBRARY=$library step "$library" "$here/deps/build-$library.sh" "$work/src/$library" "$work/obj/$library" "$stage"
done
step pack "$here/deps/pack.sh" "$stage" "$out"
((DEPS_TOOLS == 0)) || step tools "$here/deps/tools.sh" "$stage" "$out"
step licences "$here/deps/licences.sh" "$work/src" "$out/share/licenses"
step stamp "$here/deps/stamp.sh" "$out" "$flags" "$wanted" "${without[@]}"
step check "$here/deps/check.sh" "$out"
printf '%s\n' "$wanted" >"$out/recipe" || die "cannot write in $out"

if [[ -e $prefix ]]; then
    mv -T "$prefix" "$work/old" || die "cannot replace $prefix"
fi
if ! mv -T "$out" "$prefix"; then
    [[ ! -e $work/old ]] || mv -T "$work/old" "$prefix"
    die "cannot install into $prefix"
fi
stamp_packages
say "built in $((SECONDS - began)) s: $prefix"
