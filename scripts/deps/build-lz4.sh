#!/usr/bin/env bash
# build-lz4.sh SRC OBJ STAGE
# Builds liblz4.a from the source directory SRC in the directory OBJ, and installs it under STAGE.
# Environment: CC, CFLAGS, JOBS.
set -euo pipefail
src=$1 obj=$2 stage=$3

cp -R "$src/." "$obj"
make -C "$obj/lib" -j "$JOBS" CC="$CC" CFLAGS="$CFLAGS" liblz4.a
cp "$obj/lib/liblz4.a" "$stage/lib"
cp "$obj"/lib/{lz4,lz4hc,lz4frame}.h "$stage/include"
