#!/usr/bin/env bash
# build-hdf5.sh SRC OBJ STAGE
# Builds libhdf5.a and libhdf5_hl.a on the zlib and, if it is there, the libaec under STAGE, and installs
# them there. Not thread-safe: the binding holds the one lock. With the direct driver on Linux. Two settings
# would contain the path of the build: the default directory of plug-ins, and the summary of the
# configuration. Environment: CC, CFLAGS, JOBS, TARGET.
set -euo pipefail
src=$1 obj=$2 stage=$3

direct=ON
[[ $TARGET == *linux* ]] || direct=OFF
szip=OFF
[[ -e $stage/lib/libsz.a ]] && szip=ON
# It asks for CMake 3.26 and uses nothing of it; Debian 12 has 3.25.
grep -rlZ --include=CMakeLists.txt 'VERSION 3\.26)' "$src" | xargs -0 sed -i 's/VERSION 3\.26)/VERSION 3.25)/'
cmake -S "$src" -B "$obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$CFLAGS" \
    -DCMAKE_INSTALL_PREFIX="$stage" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DHDF5_NO_PACKAGES=ON -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DHDF5_BUILD_EXAMPLES=OFF \
    -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF \
    -DHDF5_BUILD_HL_LIB=ON -DHDF5_BUILD_TOOLS=OFF \
    -DHDF5_ENABLE_ZLIB_SUPPORT=ON -DZLIB_LIBRARY="$stage/lib/libz.a" -DZLIB_INCLUDE_DIR="$stage/include" \
    -DHDF5_ENABLE_SZIP_SUPPORT=$szip -DHDF5_ENABLE_SZIP_ENCODING=$szip -Dlibaec_DIR="$stage/cmake" \
    -DHDF5_ENABLE_DIRECT_VFD=$direct -DH5_DEFAULT_PLUGINDIR=/usr/local/hdf5/lib/plugin
cp "$src/src/H5build_settings.off.c.in" "$obj/src/H5build_settings.c"
cmake --build "$obj" --parallel "$JOBS" --target install
