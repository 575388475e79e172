#!/usr/bin/env bash
# deps.sh
# Fetches, verifies and builds the C libraries of third_party/VERSIONS. It installs archives and headers
# in the Go package of the platform, third_party/lib/<goos>_<goarch>, and HDF5's tools and licences under
# third_party/build. Nothing happens if that is up to date; otherwise everything is built in a directory
# beside it and renamed into place at the end, so that a failure leaves the installed state.
# Environment, with the defaults:
#
#   CC=gcc  JOBS=<processors>               a cross compiler builds for its platform; see EMULATOR
#   EMULATOR=                               the command that runs programs of that platform
#   DEPS_CFLAGS="-O3 -fPIC -DNDEBUG"        flags of every library; see below for Windows
#   DEPS_PREFIX=third_party/build           where to install
#   DEPS_LIB=third_party/lib/<platform>     where to install archives and headers; $DEPS_PREFIX/lib if
#                                           DEPS_PREFIX is set
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
need_mb=${DEPS_NEED_MB:-1000} # free space that a build takes at most
[[ $prefix == /* ]] || prefix=$PWD/$prefix
[[ $cache == /* ]] || cache=$PWD/$cache
export CC=${CC:-gcc}
JOBS=${JOBS:-$(nproc)}
export JOBS
DEPS_TOOLS=${DEPS_TOOLS:-1}
export EMULATOR=${EMULATOR:-}
without=() # libraries
[[ ${SZIP:-1} != 0 ]] || without+=(libaec)
((DEPS_TOOLS)) || without+=(hdf5-tools)

# recipe prints a hash of all that decides the result.
recipe() {
    {
        cat "$versions" "$here/deps.sh" "$here"/deps/*
        printf '%s\n' "${CC##*/}" "$("$CC" --version 2>&1 | head -n 1)" "$flags" "${without[*]}" "$target"
    } | sha256sum | cut -d ' ' -f 1
}

# up_to_date succeeds if what is installed was built by this recipe.
up_to_date() {
    [[ -e $prefix/recipe && $(<"$prefix/recipe") == "$(recipe)" && -e $lib/zz_stamp.h ]] &&
        grep -q "HYPERSLAB_RECIPE \"$(<"$prefix/recipe")\"" "$lib/zz_stamp.h"
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
target=$("$CC" -dumpmachine 2>/dev/null || uname -m)
export TARGET=$target
flags='-O3 -fPIC -DNDEBUG'
# For Windows, 64-bit offsets, and no pointers to external variables in COMDAT sections (.refptr), which
# pack.sh would break. All code is position-independent there.
[[ $target != *mingw* ]] || flags='-O3 -mcmodel=small -DNDEBUG -D_FILE_OFFSET_BITS=64'
[[ $target != *macos* ]] || flags+=' -g0' # Zig's compiler adds debug information, with paths
flags=${DEPS_CFLAGS:-$flags}
for name in ar ranlib nm ld objcopy strip; do # of the compiler's platform
    export "${name^^}=$("$CC" -print-prog-name="$name" 2>/dev/null || echo "$name")"
done
lib=${DEPS_LIB:-${DEPS_PREFIX:+$prefix/lib}}
lib=${lib:-$root/third_party/lib/$(platform "$target")}
[[ $lib == /* ]] || lib=$PWD/$lib
[[ ! -d $root/third_party/lib || $lib != "$root"/third_party/lib/* || -e $lib/lib.go ]] ||
    die "no package ${lib#"$root"/}: this platform has none"
if up_to_date; then
    say "up to date"
    exit 0
fi

# One build at a time; the second one finds that there is nothing left to do.
parent=$(dirname "$prefix")
mkdir -p "$parent/work" || die "cannot create $parent/work"
exec 9>"$parent/work/lock" || die "cannot write in $parent/work"
flock --nonblock 9 || { say "waiting for another build"; flock 9; }
if up_to_date; then
    say "up to date"
    exit 0
fi

work=$(mktemp -d "$parent/work/build.XXXXXX") || die "cannot create a directory in $parent/work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
free=$(free_mb "$work")
((free >= need_mb)) || die "not enough space: $free MB free on the disk of $parent, $need_mb MB needed"

began=$SECONDS
wanted=$(recipe)
"$here/deps/fetch.sh" "$cache" "${without[@]}"
"$here/deps/unpack.sh" "$cache" "$work/src" "${without[@]}"

# Paths of the work directory would make each build different, and show in HDF5's error messages.
export CFLAGS="$flags -ffile-prefix-map=$work/src/= -ffile-prefix-map=$work/obj/="
if [[ $(platform "$target") != "$(platform "$(uname -m)")" ]]; then
    export CMAKE_TOOLCHAIN_FILE=$work/toolchain.cmake CHOST=$target
    "$here/deps/toolchain.sh" "$target" >"$CMAKE_TOOLCHAIN_FILE"
fi
stage=$work/stage out=$work/out
mkdir -p "$stage/lib" "$stage/include" "$out/lib"
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

# The Go files of the package stay.
if [[ -e $lib/lib.go ]]; then
    (cd "$lib" && find . -name '*.go' -exec cp --parents {} "$out/lib" \;)
fi

# replace NEW OLD renames a directory into the place of another one. If it cannot, the old one stays.
replace() {
    if [[ -e $2 ]]; then
        mv -T "$2" "$work/old" || die "cannot replace $2"
    else
        mkdir -p "$(dirname "$2")" || die "cannot create $(dirname "$2")"
    fi
    if ! mv -T "$1" "$2"; then
        [[ ! -e $work/old ]] || mv -T "$work/old" "$2"
        die "cannot install into $2"
    fi
    rm -rf "$work/old"
}
mv -T "$out/lib" "$work/lib"
replace "$out" "$prefix"
replace "$work/lib" "$lib"
say "built in $((SECONDS - began)) s: $lib"
