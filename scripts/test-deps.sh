#!/usr/bin/env bash
# test-deps.sh
# Tests deps.sh. It provokes each failure and expects one clear line on stderr, a status other than
# 0 and no partial installation. Then it checks the build in third_party/build. Some failures can
# only be provoked by root (no network, a full disk); without root the script reports that.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/deps/pins.sh
. "$here/deps/pins.sh"

work=$(mktemp -d)
cleanup() {
    ! mountpoint --quiet "$work/small" || umount "$work/small"
    rm -rf "$work"
}
trap cleanup EXIT
full=$root/third_party/cache # the verified files, fetched by make deps
build=$root/third_party/build
libraries=$(library_dir)

export AUTO_INSTALL=0
export DEPS_PREFIX=$work/place/build DEPS_CACHE=$full

# fails WHAT PATTERN COMMAND ... expects a failure with one line on stderr that matches, and an
# unchanged installation directory.
fails() {
    local status=0 before after
    before=$(ls -A "$DEPS_PREFIX" 2>&1 || true)
    "${@:3}" >"$work/stdout" 2>"$work/stderr" || status=$?
    after=$(ls -A "$DEPS_PREFIX" 2>&1 || true)
    ((status != 0)) || die "$1: succeeded"
    (($(wc -l <"$work/stderr") == 1)) || die "$1: not one line on stderr: $(cat "$work/stderr")"
    grep -qE -- "$2" "$work/stderr" || die "$1: the line is not like '$2': $(cat "$work/stderr")"
    [[ $before == "$after" ]] || die "$1: changed $DEPS_PREFIX: $before, then $after"
    clean "$1"
    say "ok: $1: $(cut -c 1-150 "$work/stderr")"
}

# clean WHAT expects that no work directory is left.
clean() {
    local left
    left=$(find "$(dirname "$DEPS_PREFIX")" -name 'build.*' 2>/dev/null || true)
    [[ -z $left ]] || die "$1: left $left"
}

# commands DIRECTORY NAME ... makes a directory with all commands of this system except the named ones.
commands() {
    local file name
    mkdir "$1"
    for file in /usr/local/bin/* /usr/local/sbin/* /usr/bin/* /usr/sbin/* /bin/* /sbin/*; do
        ln -sf "$file" "$1/"
    done
    for name in "${@:2}"; do rm -f "$1/$name"; done
}

# A wrong hash.
cp -R "$full" "$work/damaged"
printf 'x' >>"$work/damaged/$(basename "$(pins | awk '$1 == "lz4" { print $5 }')")"
fails "wrong hash" 'lz4.*wrong sha256 [0-9a-f]{64}, want [0-9a-f]{64}' env DEPS_CACHE="$work/damaged" "$here/deps.sh"

# Missing tools, with and without apt.
commands "$work/no-gcc" gcc cmake
commands "$work/no-apt" gcc apt-get
fails "no compiler" 'missing: cmake gcc; run: sudo apt-get install .*cmake gcc' env PATH="$work/no-gcc" "$here/deps.sh"
fails "no compiler, no apt" 'missing: gcc \(Debian packages: gcc\)' env PATH="$work/no-apt" "$here/deps.sh"

# A broken compiler. An existing installation must stay.
mkdir -p "$DEPS_PREFIX/lib"
cat >"$work/broken-cc" <<'EOF'
#!/bin/sh
[ "$1" = --version ] && exec echo broken 1.0
echo "error: this compiler is broken" >&2
exit 1
EOF
chmod +x "$work/broken-cc"
fails "broken compiler" '^deps: zlib failed: .*\(log: ' env CC="$work/broken-cc" "$here/deps.sh"
[[ -d $DEPS_PREFIX/lib ]] || die "broken compiler: what was installed is gone"
rm -r "$DEPS_PREFIX"

# No archive to fetch from.
printf 'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "/dev/null";\nDir::State::lists "%s";\n' "$work" >"$work/apt.conf"
fails "no archive" 'no Debian archive in apt.s configuration; set DEBIAN_MIRROR' \
    env -u DEBIAN_MIRROR APT_CONFIG="$work/apt.conf" DEPS_CACHE="$work/empty" "$here/deps.sh"
fails "no such archive" 'cannot fetch lz4_.*; check the network, or put it into' \
    env DEBIAN_MIRROR="http://archive.invalid/debian" DEPS_CACHE="$work/empty" "$here/deps.sh"
[[ -z $(ls -A "$work/empty") ]] || die "no such archive: left $(ls -A "$work/empty")"

# A disk that is full before the build, and one that fills up during it.
if ((EUID == 0)); then
    mirror_of_apt=$(mirror)
    fails "no network" 'cannot fetch lz4_.*; check the network, or put it into' \
        unshare --net env DEBIAN_MIRROR="$mirror_of_apt" DEPS_CACHE="$work/empty" "$here/deps.sh"
    # Each of the other clients, with an empty cache and no other files to fetch.
    for kind in python rust; do
        rm -rf "$work/without"
        mkdir "$work/without"
        while read -r of _ path; do
            [[ $of == "$kind" ]] || ln -s "$full/$(basename "$path")" "$work/without/"
        done < <(files)
        fails "no network for $kind" 'cannot fetch [a-z0-9.-]+: .*; check the network, or put it into' \
            unshare --net env PIP_DEFAULT_TIMEOUT=2 PIP_RETRIES=0 CARGO_HOME="$work/cargo" DEPS_CACHE="$work/without" "$here/deps.sh"
    done
    mkdir "$work/small"
    mount -t tmpfs -o size=48m tmpfs "$work/small"
    DEPS_PREFIX=$work/small/build
    fails "no space" 'not enough space: [0-9]+ MB free on the disk of .*, [0-9]+ MB needed' "$here/deps.sh"
    fails "no space while unpacking" 'cannot unpack .*No space left on device' env DEPS_NEED_MB=1 "$here/deps.sh"
    mount -o remount,size=96m "$work/small"
    fails "no space while building" 'no space left' env DEPS_NEED_MB=1 DEPS_TOOLS=0 "$here/deps.sh"
    DEPS_PREFIX=$work/place/build
else
    say "not root: no network and no space were not provoked"
fi

# An interrupted build.
"$here/deps.sh" >/dev/null 2>&1 &
sleep 5
kill -TERM $!
! wait $! || die "interrupted: succeeded"
[[ ! -e $DEPS_PREFIX ]] || die "interrupted: installed something"
clean "interrupted"
say "ok: interrupted"

# Without network, libaec and tools, from files that are provided by hand.
mkdir "$work/by-hand"
while read -r _ _ path; do
    ln -s "$full/$(basename "$path")" "$work/by-hand/"
done < <(without=(libaec hdf5-tools) && files)
offline=()
((EUID != 0)) || offline=(unshare --net)
"${offline[@]}" env SZIP=0 DEPS_TOOLS=0 DEPS_CACHE="$work/by-hand" DEPS_CFLAGS="-O0 -fPIC" "$here/deps.sh" >"$work/stdout"
grep -q '^#define HYPERSLAB_HAVE_SZIP 0$' "$DEPS_PREFIX/lib/zz_stamp.h" || die "without libaec: the stamp has szip"
clean "without libaec"
say "ok: without libaec, offline: $(tail -n 1 "$work/stdout")"

# The build of make deps: it is current, and a second run detects that quickly.
began=$(date +%s%N)
DEPS_PREFIX=$build DEPS_LIB=$libraries DEPS_CACHE=$full "$here/deps.sh" | grep -q 'up to date' || die "third_party/build is not up to date"
took=$((($(date +%s%N) - began) / 1000000))
((took < 2000)) || die "the second run took $took ms"
say "ok: the second run took $took ms"

# globals ARCHIVE PATTERN expects that there are global names and that all of them match.
globals() {
    local names strange
    names=$(nm -g --defined-only "$libraries/lib$1.a" 2>/dev/null | awk 'NF == 3 { print $3 }')
    strange=$(grep -vE "$2" <<<"$names" || true)
    [[ $names && -z $strange ]] || die "lib$1.a: global names unlike $2: ${strange:-none at all}"
    say "ok: lib$1.a: $(wc -l <<<"$names") global names, all like $2"
}
globals goblosc2 '^(blosc1?_|blosc2_|b2nd_)'
globals gohdf5 '^H5'
globals gocodec '^hsc_'

# NOTICE names every pinned library with its release, and equals the output of notice.sh for this
# build.
while read -r library version _; do
    grep -qxF "$library $version" "$root/NOTICE" || die "NOTICE does not name $library $version"
done < <(linked)
"$here/notice.sh" | cmp - "$root/NOTICE" || die "NOTICE is not what make notice writes"
say "ok: NOTICE"

# Headers of another release than the library's are an error of the first call, and do not end the
# process.
cp -r "$libraries" "$work/headers"
release=$(sed -n 's/^#define H5_VERS_RELEASE *\([0-9]*\).*/\1/p' "$work/headers/H5public.h")
sed -i "s/^#define H5_VERS_RELEASE .*/#define H5_VERS_RELEASE $((release - 1))/" "$work/headers/H5public.h"
cat >"$work/versions.go" <<'EOF'
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/hyperslab/hyperslab/h5"
)

func main() {
	_, err := h5.CreateImage(nil)
	fmt.Println(err)
	if !errors.Is(err, h5.ErrVersion) {
		os.Exit(1)
	}
}
EOF
said=$(cd "$root" && CGO_CFLAGS="-O0 -I$work/headers" go run "$work/versions.go") || die "headers of another release: $said"
say "ok: $said"
