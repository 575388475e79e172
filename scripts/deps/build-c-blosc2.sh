#!/usr/bin/env bash
# build-c-blosc2.sh SRC OBJ STAGE
# Builds libblosc2.a, with its plugins, on the lz4, zlib and zstd under STAGE, and installs it there.
# (Its CMake file throws $CFLAGS of the environment away; hence CMAKE_C_FLAGS_RELEASE.)
# Environment: CC, CFLAGS, JOBS.
set -euo pipefail
src=$1 obj=$2 stage=$3

cmake -S "$src" -B "$obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$CFLAGS" \
    -DCMAKE_INSTALL_PREFIX="$stage" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DBUILD_STATIC=ON -DBUILD_SHARED=OFF -DBUILD_PLUGINS=ON \
    -DBUILD_TESTS=OFF -DBUILD_FUZZERS=OFF -DBUILD_BENCHMARKS=OFF -DBUILD_EXAMPLES=OFF \
    -DPREFER_EXTERNAL_LZ4=ON -DLZ4_LIBRARY="$stage/lib/liblz4.a" -DLZ4_INCLUDE_DIR="$stage/include" \
    -DPREFER_EXTERNAL_ZLIB=ON -DZLIB_LIBRARY="$stage/lib/libz.a" -DZLIB_INCLUDE_DIR="$stage/include" \
    -DPREFER_EXTERNAL_ZSTD=ON -DZSTD_LIBRARY="$stage/lib/libzstd.a" -DZSTD_INCLUDE_DIR="$stage/include" \
    -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB_NG=ON
cmake --build "$obj" --parallel "$JOBS" --target install
