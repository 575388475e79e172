#!/usr/bin/env bash
# build-hdf5-tools.sh SRC OBJ STAGE
# Builds the reference programs (h5dump, h5diff, h5repack, …) of an HDF5 of their own on the zlib and, if
# it is there, the libaec under STAGE, and installs them under STAGE/tools. Nothing else is linked from it,
# so it is compiled without optimization, which is faster. Environment: CC, CFLAGS, JOBS.
set -euo pipefail
src=$1 obj=$2 stage=$3

szip=OFF
[[ -e $stage/lib/libsz.a ]] && szip=ON
cmake -S "$src" -B "$obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$CFLAGS -O0" \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DHDF5_BUILD_EXAMPLES=OFF \
    -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF \
    -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_TOOLS=ON \
    -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DZLIB_LIBRARY="$stage/lib/libz.a" -DZLIB_INCLUDE_DIR="$stage/include" \
    -DHDF5_ENABLE_SZIP_SUPPORT=$szip -DHDF5_ENABLE_SZIP_ENCODING=$szip -DSZIP_DIR="$stage/cmake" \
    -DHDF5_ENABLE_DIRECT_VFD=ON
tools=(h5clear h5copy h5debug h5delete h5diff h5dump h5format_convert h5import h5jam h5ls h5mkgrp h5repack h5repart h5stat h5unjam)
cmake --build "$obj" --parallel "$JOBS" --target "${tools[@]}"
mkdir "$stage/tools"
cp "${tools[@]/#/$obj/bin/}" "$stage/tools"
