#!/usr/bin/env bash
# build-bzip2.sh SRC OBJ STAGE
# Builds libbz2.a and installs it under STAGE.
# Environment: CC, CFLAGS, JOBS.
set -euo pipefail
src=$1 obj=$2 stage=$3

cp -R "$src/." "$obj"
make -C "$obj" -j "$JOBS" CC="$CC" AR="$AR" RANLIB="$RANLIB" CFLAGS="$CFLAGS -D_FILE_OFFSET_BITS=64" libbz2.a
cp "$obj/libbz2.a" "$stage/lib"
cp "$obj/bzlib.h" "$stage/include"
