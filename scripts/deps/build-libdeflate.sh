#!/usr/bin/env bash
# build-libdeflate.sh SRC OBJ STAGE
# Builds libdeflate.a, which chooses its SIMD at run time, and installs it under STAGE.
# Environment: CC, CFLAGS, JOBS, TARGET.
set -euo pipefail
src=$1 obj=$2 stage=$3

# The compiler for macOS, Clang 22, has no target feature evex512, because it is always on. This macro says
# so, and libdeflate then does not name it.
[[ $TARGET != *macos* ]] || CFLAGS+=' -D__EVEX512__'
cmake -S "$src" -B "$obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$CFLAGS" \
    -DLIBDEFLATE_BUILD_SHARED_LIB=OFF -DLIBDEFLATE_BUILD_GZIP=OFF
cmake --build "$obj" --parallel "$JOBS"
cp "$obj/libdeflate.a" "$stage/lib"
cp "$src/libdeflate.h" "$stage/include"
