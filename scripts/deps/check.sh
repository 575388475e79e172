#!/usr/bin/env bash
# check.sh OUT
# Compiles and runs check.c against the three archives under OUT: they link side by side, are the
# pinned releases, and hold the codecs they should (CMake only warns when it drops one).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$1/check
trap 'rm -f "$program"' EXIT
"$CC" -std=c11 -Wall -Wextra -Werror -isystem "$1/include" -o "$program" "$here/check.c" \
    -L"$1/lib" -lgohdf5 -lgoblosc2 -lgocodec -lpthread -ldl -lm
"$program"
