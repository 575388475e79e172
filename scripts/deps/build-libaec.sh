#!/usr/bin/env bash
# build-libaec.sh SRC OBJ STAGE
# Installs libaec.a and libsz.a, taken from Debian's package unpacked in SRC, under STAGE, and writes
# the CMake file by which HDF5 1.14.5 finds them (it asks for a package called szip).
set -euo pipefail
src=$1 stage=$3

cp "$src"/usr/lib/*/lib{aec,sz}.a "$stage/lib"
cp "$src"/usr/include/{libaec,szlib}.h "$stage/include"
mkdir -p "$stage/cmake"
cat >"$stage/cmake/szip-config.cmake" <<EOF
foreach(name aec sz)
  add_library(libaec::\${name} STATIC IMPORTED)
  set_target_properties(libaec::\${name} PROPERTIES
    IMPORTED_LOCATION "$stage/lib/lib\${name}.a"
    INTERFACE_INCLUDE_DIRECTORIES "$stage/include")
endforeach()
set_target_properties(libaec::sz PROPERTIES INTERFACE_LINK_LIBRARIES libaec::aec)
set(SZIP_FOUND TRUE)
set(SZIP_INCLUDE_DIR "$stage/include")
set(SZIP_LIBRARIES libaec::sz)
EOF
