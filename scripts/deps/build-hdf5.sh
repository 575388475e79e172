#!/usr/bin/env bash
# build-hdf5.sh SRC OBJ STAGE
# Builds libhdf5.a, libhdf5_hl.a and the tools on the zlib and, if it is there, the libaec under STAGE.
# Not thread-safe: the binding holds the one lock. With the direct driver.
# Environment: CC, CFLAGS, JOBS, DEPS_TOOLS (0 leaves the tools out).
set -euo pipefail
src=$1 obj=$2 stage=$3

szip=OFF
[[ -e $stage/lib/libsz.a ]] && szip=ON
tools=ON
[[ $DEPS_TOOLS == 0 ]] && tools=OFF
cmake -S "$src" -B "$obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$CFLAGS" \
    -DCMAKE_INSTALL_PREFIX="$stage" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DHDF5_BUILD_EXAMPLES=OFF \
    -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF \
    -DHDF5_BUILD_HL_LIB=ON -DHDF5_BUILD_TOOLS=$tools \
    -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DZLIB_LIBRARY="$stage/lib/libz.a" -DZLIB_INCLUDE_DIR="$stage/include" \
    -DHDF5_ENABLE_SZIP_SUPPORT=$szip -DHDF5_ENABLE_SZIP_ENCODING=$szip -DSZIP_DIR="$stage/cmake" \
    -DHDF5_ENABLE_DIRECT_VFD=ON
cp "$src/src/H5build_settings.off.c.in" "$obj/src/H5build_settings.c" # the other one names this folder
cmake --build "$obj" --parallel "$JOBS" --target install
