#!/usr/bin/env bash
# build-zlib.sh SRC OBJ STAGE
# Builds libz.a and installs it under STAGE.
# Environment: CC, CFLAGS, JOBS.
set -euo pipefail
src=$1 obj=$2 stage=$3

cp -R "$src/." "$obj"
cd "$obj"
./configure --static
make -j "$JOBS" libz.a
cp libz.a "$stage/lib"
cp zlib.h zconf.h "$stage/include"
