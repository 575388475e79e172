#!/usr/bin/env bash
# build-libdeflate.sh SRC OBJ STAGE
# Builds libdeflate.a, which chooses its SIMD at run time, and installs it under STAGE.
# Environment: CC, CFLAGS, JOBS, TARGET.
set -euo pipefail
src=$1 obj=$2 stage=$3

# The compiler for macOS, Clang 22, refuses the name of the target feature evex512, because the feature is
# always on. With this macro, which older compilers define then, libdeflate does not use the name.
[[ $TARGET != *macos* ]] || CFLAGS+=' -D__EVEX512__'
cmake -S "$src" -B "$obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$CFLAGS" \
    -DLIBDEFLATE_BUILD_SHARED_LIB=OFF -DLIBDEFLATE_BUILD_GZIP=OFF
cmake --build "$obj" --parallel "$JOBS"
cp "$obj/libdeflate.a" "$stage/lib"
cp "$src/libdeflate.h" "$stage/include"
