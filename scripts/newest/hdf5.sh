#!/usr/bin/env bash
# hdf5.sh PREFIX
# Builds HDF5 2.2 as a shared library with its pkg-config files under PREFIX, from the sources in the
# crate hdf5-metno-src: Debian's pool drops the packages of its moving suites with every upload, a crate
# of one version stays. The crate comes through cargo as this machine has it set up and is kept in
# third_party/cache, where it may be put by hand too. Nothing happens if PREFIX is up to date.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/../deps/pins.sh"

crate=hdf5-metno-src version=0.10.4 # HDF5 2.2.0
sha=69c883c565498492954e344c482f8622525e58c7a71100dd9498c4940da82885
prefix=$1
cache=${DEPS_CACHE:-$root/third_party/cache}
file=$cache/$crate-$version.crate
recipe=$(cat "$0" <(gcc --version | head -n 1) | sha256sum)
[[ $(cat "$prefix/recipe" 2>/dev/null) != "$recipe" ]] || exit 0

need gcc:gcc /usr/include/stdio.h:libc6-dev make:make cmake:cmake tar:tar \
    /usr/include/zlib.h:zlib1g-dev /usr/include/szlib.h:libaec-dev
mkdir -p "${prefix%/*}"
work=$(mktemp -d "${prefix%/*}/build.XXXXXX")
trap 'rm -rf "$work"' EXIT

# fetch lets cargo resolve a package that asks for the crate, and takes the file from cargo's own cache.
fetch() {
    local by_hand="put ${file##*/} into $cache by hand and run this again" got_file log
    command -v cargo >/dev/null || die "no cargo to fetch ${file##*/} with; $by_hand"
    mkdir -p "$work/fetch/src" "$cache"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n%s = "=%s"\n' \
        "$crate" "$version" >"$work/fetch/Cargo.toml"
    : >"$work/fetch/src/lib.rs"
    say "fetching ${file##*/}"
    log=$(cargo fetch --quiet --manifest-path "$work/fetch/Cargo.toml" 2>&1) ||
        die "cargo cannot fetch ${file##*/}: $(grep -m 1 '^error' <<<"$log" || tail -n 1 <<<"$log"); $by_hand"
    got_file=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/cache" -name "${file##*/}" -print -quit)
    [[ $got_file ]] || die "cargo has no ${file##*/} in its cache; $by_hand"
    cp "$got_file" "$file.part"
    mv "$file.part" "$file"
}
[[ -e $file ]] || fetch
verify "$file" "$sha" || die "$file: wrong sha256 $got, want $sha; remove the file and run this again"

tar -xzf "$file" -C "$work"
src=$work/$crate-$version/ext/hdf5
# It asks for CMake 3.26, of which it uses nothing; Debian 12 has 3.25.
grep -rlZ --include=CMakeLists.txt 'VERSION 3\.26)' "$src" | xargs -0 sed -i 's/VERSION 3\.26)/VERSION 3.25)/'

began=$SECONDS
out=$work/out
build() {
    cmake -S "$src" -B "$work/obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" \
        -DCMAKE_INSTALL_PREFIX="$out" -DCMAKE_INSTALL_LIBDIR=lib -DHDF5_NO_PACKAGES=ON \
        -DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF -DBUILD_TESTING=OFF -DHDF5_BUILD_EXAMPLES=OFF \
        -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF \
        -DHDF5_BUILD_HL_LIB=ON -DHDF5_BUILD_TOOLS=OFF -DHDF5_ENABLE_ZLIB_SUPPORT=ON \
        -DHDF5_ENABLE_SZIP_SUPPORT=ON -DHDF5_ENABLE_SZIP_ENCODING=ON -DHDF5_ENABLE_DIRECT_VFD=ON &&
        cmake --build "$work/obj" --parallel "${JOBS:-$(nproc)}" --target install
}
build >"$work/log" 2>&1 || {
    cp "$work/log" "${prefix%/*}/failed.log"
    die "HDF5 $version failed: $(grep -m 1 -iE 'error' "$work/log" || tail -n 1 "$work/log") (log: ${prefix%/*}/failed.log)"
}
sed -i "s#$out#$prefix#g" "$out"/lib/pkgconfig/*.pc
printf '%s\n' "$recipe" >"$out/recipe"
rm -rf "$prefix"
mv -T "$out" "$prefix"
say "HDF5 built in $((SECONDS - began)) s: $prefix"
