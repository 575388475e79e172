#!/usr/bin/env bash
# build-zstd.sh SRC OBJ STAGE
# Builds libzstd.a, without the formats from before version 1, and installs it under STAGE.
# Environment: CC, CFLAGS, JOBS.
set -euo pipefail
src=$1 obj=$2 stage=$3

cp -R "$src/lib/." "$obj"
make -C "$obj" -j "$JOBS" CC="$CC" CFLAGS="$CFLAGS" ZSTD_LEGACY_SUPPORT=0 libzstd.a
cp "$obj/libzstd.a" "$stage/lib"
cp "$obj"/{zstd,zdict,zstd_errors}.h "$stage/include"
