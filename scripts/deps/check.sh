#!/usr/bin/env bash
# check.sh OUT
# Checks the three archives under OUT. Our flags reached the compiler (without them the paths of the
# work directory, OUT/.., are in the objects). check.c compiles with the libraries that the Go package of
# the platform links, and runs, by $EMULATOR if that is set (a program for macOS runs only there): the
# archives link side by side, are the pinned releases and hold the codecs they should (CMake only warns
# when it drops one). Environment: CC, TARGET.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/../lib.sh"
if grep -qaF "$(dirname "$1")/" "$1"/lib/*.a; then
    echo "error: the flags were lost: the path of the work directory is in $(grep -laF "$(dirname "$1")/" "$1"/lib/*.a)"
    exit 1
fi
program=$1/check.exe # the suffix that Windows needs
# shellcheck disable=SC2016 # SRCDIR is Go's, not the shell's
read -ra libraries < <(sed -n 's/^.*LDFLAGS: -L${SRCDIR} //p' "$root/third_party/lib/$(platform "$TARGET")/lib.go")
trap 'rm -f "$program"' EXIT
"$CC" -std=c11 -Wall -Wextra -Werror -isystem "$1/lib" -o "$program" "$here/check.c" \
    -L"$1/lib" "${libraries[@]}"
if [[ $TARGET == *macos* && $(uname -s) != Darwin ]]; then
    exit 0
fi
read -ra emulator <<<"${EMULATOR:-}"
"${emulator[@]}" "$program"
