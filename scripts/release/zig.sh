#!/usr/bin/env bash
# zig.sh TARGET ARGUMENT ...
# The C compiler of Zig for TARGET, aarch64-macos or x86_64-macos: it contains the headers of macOS and its
# system library. The first call installs Zig below .fresh/zig, and makes the stubs of the other libraries
# that Go's linker names: their symbols are those that Go's source imports. It answers -print-prog-name as
# gcc does.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
pin='ziglang==0.17.1 --hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54'
base=$root/.fresh/zig

# stub FILE NAME writes the stub of the library that macOS installs as NAME.
stub() {
    mkdir -p "$(dirname "$1")"
    cat >"$1" <<END
--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '$2'
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ $(grep -rhE "^//go:cgo_import_dynamic [^ ]+ [^ ]+ \"$2\"" --include='*.go' "$(go env GOROOT)/src" |
        awk '{ print "_" $3 }' | sort -u | paste -s -d ,) ]
...
END
}

if [[ ! -e $base/ready || $(<"$base/ready") != "$pin" ]]; then
    need flock:util-linux pip3:python3-pip llvm-objcopy:llvm >&2
    mkdir -p "$base"
    exec 9>"$base/lock"
    flock 9 # one call installs it, the others wait
    if [[ ! -e $base/ready || $(<"$base/ready") != "$pin" ]]; then
        printf '%s\n' "$pin" >"$base/requirements.txt"
        rm -rf "$base/python"
        pip3 install --quiet --disable-pip-version-check --root-user-action=ignore --target "$base/python" --require-hashes -r "$base/requirements.txt" >&2
        for name in CoreFoundation Security; do
            stub "$base/sdk/System/Library/Frameworks/$name.framework/$name.tbd" "/System/Library/Frameworks/$name.framework/Versions/A/$name"
        done
        stub "$base/sdk/usr/lib/libresolv.tbd" /usr/lib/libresolv.9.dylib
        cp "$base/requirements.txt" "$base/ready"
    fi
    exec 9>&-
fi

target=$1
shift
for argument; do
    case $argument in
        -print-prog-name=*)
            command -v "llvm-${argument#*=}" || command -v "${argument#*=}"
            exit
            ;;
        --version | '-###') cd "$base" ;; # Zig makes an empty object in the current directory
    esac
done
export ZIG_GLOBAL_CACHE_DIR=$base/cache ZIG_LOCAL_CACHE_DIR=$base/cache
exec "$base/python/ziglang/zig" cc -target "$target.13.0-none" -F"$base/sdk/System/Library/Frameworks" -L"$base/sdk/usr/lib" "$@"
