#!/usr/bin/env bash
# build-libaec.sh SRC OBJ STAGE
# Builds libsz.a, which contains libaec.a, and installs both under STAGE with the CMake file by which HDF5
# finds them. (HDF5 2.2 looks for a package libaec, 1.14.5 for one called szip.)
# Environment: CC, CFLAGS, JOBS.
set -euo pipefail
src=$1 obj=$2 stage=$3

sed -i 's/VERSION 3\.26\.\.\./VERSION 3.25.../' "$src/CMakeLists.txt" # Debian 12 has 3.25, which is enough
cmake -S "$src" -B "$obj" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$CFLAGS" \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF
cmake --build "$obj" --parallel "$JOBS" --target aec-static sz-static
cp "$obj"/src/lib{aec,sz}.a "$stage/lib"
cp "$src/include/szlib.h" "$obj/include/libaec.h" "$stage/include"
mkdir -p "$stage/cmake"
tee "$stage/cmake/libaec-config.cmake" >"$stage/cmake/szip-config.cmake" <<END
foreach(name aec sz)
  add_library(libaec::\${name} STATIC IMPORTED)
  set_target_properties(libaec::\${name} PROPERTIES
    IMPORTED_LOCATION "$stage/lib/lib\${name}.a"
    INTERFACE_INCLUDE_DIRECTORIES "$stage/include")
endforeach()
set(SZIP_FOUND TRUE)
set(SZIP_INCLUDE_DIR "$stage/include")
set(SZIP_LIBRARIES libaec::sz)
END
